import { type Logger, pino } from "pino";
import { build as pretty } from "pino-pretty";

export type { Logger } from "pino";

/** How much may wait to be written, in bytes, to a reader that takes none of it. Past it lines are dropped. */
const maxWaitingBytes = 16 * 1024 * 1024;

/**
 * Logs to stderr: JSON lines, or text for people on a terminal. The lines are written beside the event loop, which waits
 * for nobody who reads them; those that wait at the end of the process are written then.
 */
export function createLogger(level: string): Logger {
  const isTerminal = process.stderr.isTTY === true;
  const stream = isTerminal
    ? pretty({ destination: 2, ignore: "pid,hostname", sync: true })
    : pino.destination({ fd: 2, sync: false, maxLength: maxWaitingBytes });
  return pino({ level }, stream);
}
