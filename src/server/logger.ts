import { type EventEmitter, once } from "node:events";
import { Writable } from "node:stream";
import { type DestinationStream, type Logger, pino } from "pino";
import { createTerminalFormat } from "./terminal-log.ts";

export type { Logger } from "pino";

/** How much may wait to be written, in bytes, to a reader that takes none of it. Past it lines are dropped. */
const maxWaitingBytes = 16 * 1024 * 1024;

/**
 * Logs to stderr: JSON lines, or text for people on a terminal. The lines are written beside the event loop, which
 * waits for nobody who reads them; those that wait at the end of the process are written then.
 */
export function createLogger(level: string): Logger {
  const isTerminal = process.stderr.isTTY === true;
  const stderr = pino.destination({ fd: 2, sync: isTerminal, maxLength: maxWaitingBytes });
  // A log that cannot be written, for want of room or of a reader, ends no server; nor does it keep one from its end,
  // at which the stream would try for ever.
  stderr.on("error", () => {
    stderr.flushSync = () => {};
  });
  return pino({ level }, isTerminal ? createTerminalStream(stderr) : stderr);
}

/** Passes lines on as text, in colours where the terminal has them and `NO_COLOR` does not forbid them. */
function createTerminalStream(stderr: DestinationStream): Writable {
  const format = createTerminalFormat({ colour: process.stderr.hasColors() });
  return new Writable({
    decodeStrings: false,
    write(line: string, _encoding, done) {
      stderr.write(format(line));
      done();
    },
  });
}

/**
 * Resolves when the lines that have just been logged are written. On a terminal they are written at once, and it does
 * not.
 */
export async function written(logger: Logger): Promise<void> {
  await once((logger as unknown as Record<symbol, EventEmitter>)[pino.symbols.streamSym] as EventEmitter, "drain");
}
