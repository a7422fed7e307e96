import { type EventEmitter, once } from "node:events";
import { Writable } from "node:stream";
import { type DestinationStream, type Logger, pino } from "pino";

export type { Logger } from "pino";

/** How many bytes may wait for a reader that takes none of them. Further lines are dropped. */
const maxWaitingBytes = 16 * 1024 * 1024;

/**
 * Logs to stderr: JSON lines, or text for people on a terminal. Lines are written asynchronously, so that the event
 * loop never waits for a reader. Those that are left at the end of the process are written then.
 */
export async function createLogger(level: string): Promise<Logger> {
  const isTerminal = process.stderr.isTTY === true;
  const stderr = pino.destination({ fd: 2, sync: isTerminal, maxLength: maxWaitingBytes });
  // A log that cannot be written, on a full disk or without a reader, must not end the server. Nor must it keep the
  // server from ending: the stream would try to flush for ever.
  stderr.on("error", () => {
    stderr.flushSync = () => {};
  });
  return pino({ level }, isTerminal ? await createTerminalStream(stderr) : stderr);
}

/** Turns lines into text, in colours if the terminal has them and `NO_COLOR` does not forbid them. */
async function createTerminalStream(stderr: DestinationStream): Promise<Writable> {
  const { createTerminalFormat } = await import("./terminal-log.ts");
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
 * Resolves when the lines that have just been logged are written. Never resolves on a terminal, where lines are written
 * at once.
 */
export async function written(logger: Logger): Promise<void> {
  await once((logger as unknown as Record<symbol, EventEmitter>)[pino.symbols.streamSym] as EventEmitter, "drain");
}
