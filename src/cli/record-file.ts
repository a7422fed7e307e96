import { createReadStream, fstatSync, openSync, type Stats } from "node:fs";
import { extname } from "node:path";
import type { RecordChange } from "../domain/import.ts";
import { type FileFormat, fileFormatFromExtension } from "../records/file-format.ts";
import { FirstLines } from "../records/first-lines.ts";
import { RecordError } from "../records/record-error.ts";
import type { RecordFormat } from "../records/record-format.ts";
import { readRecords } from "../records/record-reader.ts";
import { Failure, isSystemError, systemFailure, usageFailure } from "./failure.ts";
import { showProgress } from "./print/progress.ts";
import { Spool } from "./spool.ts";

/** A file of records, or stdin. */
export interface RecordFile<T extends { readonly id: bigint }> {
  readonly format: RecordFormat<T>;
  /**
   * Reads the records, with a progress bar. They can be read again once they have been read to their end. Throws a
   * `Failure` that names the file and the line of a bad one.
   */
  read(label: string): AsyncIterable<RecordChange<T>>;
  /** A failure that names the file, and the line of a record that has been read. */
  failureAt(id: bigint, message: string): Failure;
}

/**
 * Opens a file, or stdin for `-`. Without a format its extension tells which it is, and stdin has JSON Lines. Throws a
 * `Failure` when it cannot be read, or its extension is not known.
 */
export function openRecordFile<T extends { readonly id: bigint }>(
  path: string,
  format: RecordFormat<T>,
  fileFormat: FileFormat = fileFormatOf(path),
): RecordFile<T> {
  const { name, source } = path === "-" ? standardInput() : named(path);
  let firstLines = new FirstLines();
  return {
    format,
    read: (label) => {
      const chunks = showProgress(source.read(), { label, totalBytes: source.totalBytes });
      firstLines = new FirstLines();
      return naming(name, readRecords(chunks, fileFormat, format, firstLines));
    },
    failureAt: (id, message) => new Failure(`${name}:${firstLines.get(id)}: ${message}`),
  };
}

/** Where bytes come from, each time that they are read. */
interface Source {
  readonly totalBytes: number | undefined;
  read(): AsyncIterable<Uint8Array>;
}

interface Input {
  /** What messages call it. */
  readonly name: string;
  readonly source: Source;
}

function standardInput(): Input {
  const source = readOnce(process.stdin, fstatSync(process.stdin.fd));
  return { name: "stdin", source };
}

function named(path: string): Input {
  const fd = open(path);
  const stats = fstatSync(fd);
  if (stats.isDirectory()) {
    throw new Failure(`cannot read ${path}: it is a folder`);
  }
  const options = { fd, autoClose: false };
  // A pipe can have a name too.
  const source = stats.isFile()
    ? { totalBytes: stats.size, read: () => createReadStream(path, { ...options, start: 0 }) }
    : readOnce(createReadStream(path, options), stats);
  return { name: path, source };
}

/** The source of what the system gives only once: what the first reading has seen is kept for the others. */
function readOnce(chunks: AsyncIterable<Uint8Array>, stats: Stats): Source {
  let spool: Spool | undefined;
  return {
    totalBytes: stats.isFile() ? stats.size : undefined,
    read: () => {
      if (spool !== undefined) {
        return spool.replay();
      }
      spool = new Spool();
      return spool.record(chunks);
    },
  };
}

function fileFormatOf(path: string): FileFormat {
  const fileFormat = path === "-" ? "jsonl" : fileFormatFromExtension(extname(path));
  if (fileFormat === undefined) {
    throw usageFailure(`${path} must end in .csv, .json, .jsonl or .ndjson; or name its --format`);
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

async function* naming<T>(name: string, records: AsyncIterable<T>): AsyncGenerator<T, void, undefined> {
  try {
    yield* records;
  } catch (error) {
    if (error instanceof RecordError) {
      throw new Failure(`${name}:${error.line}: ${error.message}`);
    }
    throw isSystemError(error) ? systemFailure(`read ${name}`, error) : error;
  }
}
