import type { Logger } from "pino";

/** How much can be logged, from nothing to every call. */
export const logLevels = ["silent", "fatal", "error", "warn", "info", "debug"] as const;

export type LogLevel = (typeof logLevels)[number];

export function isLogLevel(text: string): text is LogLevel {
  return (logLevels as readonly string[]).includes(text);
}

/**
 * Has SIGUSR2 switch a logger to `debug`, and back to the level that it has now; or to `info`, if that is the same.
 * Returns what ends it.
 */
export function switchDebugBySignal(logger: Logger): () => void {
  const quiet = logger.level === "debug" ? "info" : logger.level;
  const onSignal = () => {
    logger.level = logger.level === "debug" ? quiet : "debug";
  };
  // Windows has no such signal.
  if (process.platform !== "win32") {
    process.on("SIGUSR2", onSignal);
  }
  return () => void process.off("SIGUSR2", onSignal);
}
