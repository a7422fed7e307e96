import type { Logger } from "pino";

/** The levels of the log, from nothing to every call. */
export const logLevels = ["silent", "fatal", "error", "warn", "info", "debug"] as const;

export type LogLevel = (typeof logLevels)[number];

export function isLogLevel(text: string): text is LogLevel {
  return (logLevels as readonly string[]).includes(text);
}

/** The level of a logger, which can be switched to `debug` and back. */
export class AdjustableLevel {
  readonly #logger: Logger;
  /** The level to return to from `debug`. */
  #quiet: LogLevel = "info";

  constructor(logger: Logger) {
    this.#logger = logger;
    this.set(this.get());
  }

  get(): LogLevel {
    return this.#logger.level as LogLevel;
  }

  set(level: LogLevel): void {
    if (level !== "debug") {
      this.#quiet = level;
    }
    this.#logger.level = level;
  }

  /** Switches to `debug`, or back to the level before it, which is `info` if there was none. */
  switchDebug(): void {
    this.set(this.get() === "debug" ? this.#quiet : "debug");
  }
}
