import { randomUUID } from "node:crypto";
import { appendFileSync, createReadStream, fstatSync, openSync, type Stats, unlinkSync } from "node:fs";
import { Socket } from "node:net";
import { tmpdir } from "node:os";
import { extname, join } from "node:path";
import { addAbortSignal, type Readable } from "node:stream";
import { setImmediate } from "node:timers/promises";
import type { RecordChange } from "../domain/catalog.ts";
import { RecordError } from "../records/record-error.ts";
import type { RecordFormat } from "../records/record-format.ts";
import { type FileFormat, FirstLines, readRecords } from "../records/records.ts";
import { Failure, isSystemError, systemFailure, usageFailure } from "./failure.ts";
import { showProgress } from "./long-work.ts";

const fileFormatOf: Partial<Record<string, FileFormat>> = {
  ".csv": "csv",
  ".json": "json",
  ".jsonl": "jsonl",
  ".ndjson": "jsonl",
};

/** A file of records, or stdin. */
export interface RecordFile<T extends { readonly id: bigint }> {
  readonly format: RecordFormat<T>;
  /**
   * Reads the records, with a progress bar. They can be read again after they were read to the end. Throws a `Failure`
   * that names the file and the line of a bad record. Once `interrupted` has aborted, reading throws an `AbortError`,
   * even behind the last record.
   */
  read(label: string, interrupted: AbortSignal): AsyncIterable<RecordChange<T>>;
  /** A failure that names the file and the line of a record that was read. */
  failureAt(id: bigint, message: string): Failure;
}

/**
 * Opens a file, or stdin for `-`. The default format is that of the file's extension; for stdin it is JSON Lines. Throws
 * a `Failure` for a file that cannot be read, or an unknown extension.
 */
export function openRecordFile<T extends { readonly id: bigint }>(
  path: string,
  format: RecordFormat<T>,
  statedFormat: FileFormat | undefined,
): RecordFile<T> {
  const fileFormat = statedFormat ?? defaultFormat(path);
  const hint = path === "-" && statedFormat === undefined ? "; without --format, stdin is read as JSON Lines" : "";
  const { name, source } = path === "-" ? standardInput() : fileInput(path);
  let firstLines = new FirstLines();
  return {
    format,
    read: (label, interrupted) => {
      const chunks = showProgress(source.read(interrupted), { label, totalBytes: source.totalBytes });
      firstLines = new FirstLines();
      const records = readRecords(chunks, fileFormat, format, firstLines);
      return withFailures(untilInterrupted(records, interrupted), { name, hint });
    },
    failureAt: (id, message) => new Failure(`${name}:${firstLines.get(id)}: ${message}`),
  };
}

/**
 * Ctrl-C also ends the program that writes to stdin. So the end of the input may come in the same turn of the event loop
 * as the signal.
 */
async function* untilInterrupted<T>(records: AsyncIterable<T>, interrupted: AbortSignal): AsyncGenerator<T, void> {
  yield* records;
  await setImmediate();
  interrupted.throwIfAborted();
}

/** Bytes that can be read several times. */
interface Source {
  readonly totalBytes: number | undefined;
  read(interrupted: AbortSignal): AsyncIterable<Uint8Array>;
}

interface Input {
  /** Its name in messages. */
  readonly name: string;
  readonly source: Source;
}

function standardInput(): Input {
  return { name: "stdin", source: readOnce(() => process.stdin, fstatSync(process.stdin.fd)) };
}

function fileInput(path: string): Input {
  const fd = open(path);
  const stats = fstatSync(fd);
  if (stats.isDirectory()) {
    throw new Failure(`cannot read ${path}: it is a folder`);
  }
  const options = { fd, autoClose: false };
  const source: Source = stats.isFile()
    ? { totalBytes: stats.size, read: (signal) => createReadStream(path, { ...options, start: 0, signal }) }
    : readOnce(() => (stats.isFIFO() ? readPipe(fd) : createReadStream(path, options)), stats);
  return { name: path, source };
}

/** Reads a named pipe. A file's stream that is aborted would still wait for a silent writer. */
function readPipe(fd: number): Readable {
  return new Socket({ fd, writable: false });
}

/** A source for bytes that the system gives only once. The first read keeps a copy for later ones. */
function readOnce(createStream: () => Readable, stats: Stats): Source {
  let spool: Spool | undefined;
  return {
    totalBytes: stats.isFile() ? stats.size : undefined,
    read: (interrupted) => {
      if (spool !== undefined) {
        return spool.replay(interrupted);
      }
      spool = new Spool();
      return spool.record(addAbortSignal(interrupted, createStream()));
    },
  };
}

function defaultFormat(path: string): FileFormat {
  const fileFormat = path === "-" ? "jsonl" : fileFormatOf[extname(path).toLowerCase()];
  if (fileFormat === undefined) {
    throw usageFailure(`${path} must end in .csv, .json, .jsonl or .ndjson, or be given with --format`);
  }
  return fileFormat;
}

function open(path: string): number {
  try {
    return openSync(path, "r");
  } catch (error) {
    throw systemFailure(`read ${path}`, error);
  }
}

/** Turns errors into failures that name the file. An error before the first record has the hint on the format. */
async function* withFailures<T>(
  records: AsyncIterable<T>,
  { name, hint }: { readonly name: string; readonly hint: string },
): AsyncGenerator<T, void, undefined> {
  let isFirst = true;
  try {
    for await (const record of records) {
      isFirst = false;
      yield record;
    }
  } catch (error) {
    if (error instanceof RecordError) {
      throw new Failure(`${name}:${error.line}: ${error.message}${isFirst ? hint : ""}`);
    }
    throw isSystemError(error) ? systemFailure(`read ${name}`, error) : error;
  }
}

/** Copies a stream that can be read only once, such as stdin, to a temporary file, so that it can be read again. */
class Spool {
  readonly #fd = openNameless();

  /** Passes bytes on, and stores them. Throws a `Failure` when they cannot be stored. */
  async *record(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array, void, undefined> {
    for await (const chunk of chunks) {
      attempt(() => appendFileSync(this.#fd, chunk));
      yield chunk;
    }
  }

  /** The stored bytes, from the start. */
  replay(interrupted: AbortSignal): AsyncIterable<Uint8Array> {
    return createReadStream("", { fd: this.#fd, start: 0, autoClose: false, signal: interrupted });
  }
}

/** Opens a file without a name. The system deletes it when the process ends, however it ends. */
function openNameless(): number {
  const path = join(tmpdir(), `petstore-${randomUUID()}`);
  return attempt(() => {
    const fd = openSync(path, "wx+", 0o600);
    unlinkSync(path);
    return fd;
  });
}

function attempt<R>(use: () => R): R {
  try {
    return use();
  } catch (error) {
    throw systemFailure(`write to ${tmpdir()}`, error);
  }
}
