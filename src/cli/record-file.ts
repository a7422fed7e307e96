import { createReadStream, fstatSync, openSync } from "node:fs";
import { extname } from "node:path";
import { type FileFormat, fileFormatFromExtension } from "../records/file-format.ts";
import { RecordError } from "../records/record-error.ts";
import type { RecordFormat } from "../records/record-format.ts";
import { readRecords } from "../records/record-reader.ts";
import { Failure, systemFailure, usageFailure } from "./failure.ts";
import { showProgress } from "./progress.ts";

/** A file of records, or stdin. */
export interface RecordFile {
  /** Whether it can be read more than once: stdin and pipes cannot. */
  readonly isRereadable: boolean;
  /** Reads the records, with a progress bar. Throws a `Failure` that names the file and the line of a bad one. */
  read<T extends { readonly id: bigint }>(format: RecordFormat<T>, label: string): AsyncIterable<T>;
}

/** Opens a file, or stdin for `-`. Throws a `Failure` when it cannot be read, or its extension is not known. */
export function openRecordFile(path: string): RecordFile {
  return path === "-" ? createRecordFile("stdin", "jsonl", standardInput()) : openNamed(path);
}

/** Where bytes come from, each time that they are read. */
interface Source {
  readonly isRereadable: boolean;
  readonly totalBytes: number | undefined;
  read(): AsyncIterable<Uint8Array>;
}

function createRecordFile(name: string, fileFormat: FileFormat, source: Source): RecordFile {
  const { isRereadable, totalBytes } = source;
  return {
    isRereadable,
    read: (format, label) =>
      naming(name, readRecords(showProgress(source.read(), { label, totalBytes }), fileFormat, format)),
  };
}

function openNamed(path: string): RecordFile {
  const fileFormat = fileFormatOf(path);
  const fd = open(path);
  const stats = fstatSync(fd);
  if (stats.isDirectory()) {
    throw new Failure(`cannot read ${path}: it is a folder`);
  }
  const isRereadable = stats.isFile();
  const options = { fd, autoClose: false, ...(isRereadable ? { start: 0 } : {}) };
  const totalBytes = isRereadable ? stats.size : undefined;
  return createRecordFile(path, fileFormat, { isRereadable, totalBytes, read: () => createReadStream(path, options) });
}

function standardInput(): Source {
  const stats = fstatSync(process.stdin.fd);
  return { isRereadable: false, totalBytes: stats.isFile() ? stats.size : undefined, read: () => process.stdin };
}

function fileFormatOf(path: string): FileFormat {
  const fileFormat = fileFormatFromExtension(extname(path));
  if (fileFormat === undefined) {
    throw usageFailure(`${path} must end in .csv, .json, .jsonl or .ndjson`);
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
    throw error instanceof RecordError ? new Failure(`${name}:${error.line}: ${error.message}`) : error;
  }
}
