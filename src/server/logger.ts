import { type Logger, pino } from "pino";
import { build as pretty } from "pino-pretty";

export type { Logger } from "pino";

/** Logs to stderr: JSON lines, or text for people on a terminal. */
export function createLogger(level: string): Logger {
  const isTerminal = process.stderr.isTTY === true;
  const stream = isTerminal
    ? pretty({ destination: 2, ignore: "pid,hostname", sync: true })
    : pino.destination({ fd: 2, sync: true });
  return pino({ level }, stream);
}
