import type { Logger } from "pino";

/** How much can be logged, from nothing to every call. */
export const logLevels = ["silent", "fatal", "error", "warn", "info", "debug"] as const;

export type LogLevel = (typeof logLevels)[number];

export function isLogLevel(text: string): text is LogLevel {
  return (logLevels as readonly string[]).includes(text);
}

/** The level of a logger, which may be switched to `debug` for a while. */
export class AdjustableLevel {
  readonly #logger: Logger;
  /** What to come back to from `debug`. */
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

  /** Switches to `debug`; or back, to the last level that was another, `info` where there was none. */
  switchDebug(): void {
    this.set(this.get() === "debug" ? this.#quiet : "debug");
  }
}
