import type { RecordChange } from "../domain/import.ts";
import { readCsv } from "./csv.ts";
import { type CellOrder, parseCsvHeader } from "./csv-header.ts";
import type { FileFormat } from "./file-format.ts";
import { FirstLines } from "./first-lines.ts";
import { readJsonArray } from "./json-array.ts";
import { readJsonLines } from "./json-lines.ts";
import type { Located } from "./located.ts";
import { FieldError, RecordError } from "./record-error.ts";
import { type RecordFormat, recordFromCells, recordFromJson } from "./record-format.ts";
import { decodeUtf8 } from "./utf8.ts";

/**
 * Reads the records of a file as its bytes arrive: whole ones, and those with some fields that are to change. Throws
 * `RecordError` at the first bad one, an id that stood in the file before included. `firstLines` then has the line of
 * each id.
 */
export async function* readRecords<T extends { readonly id: bigint }>(
  chunks: AsyncIterable<Uint8Array>,
  fileFormat: FileFormat,
  recordFormat: RecordFormat<T>,
  firstLines = new FirstLines(),
): AsyncGenerator<RecordChange<T>, void, undefined> {
  for await (const { line, value: record } of readers[fileFormat](decodeUtf8(chunks), recordFormat)) {
    firstLines.add(record.id, line);
    yield record;
  }
}

type Reader = <T extends { readonly id: bigint }>(
  texts: AsyncIterable<string>,
  format: RecordFormat<T>,
) => AsyncIterable<Located<RecordChange<T>>>;

const readers: Record<FileFormat, Reader> = {
  csv: readCsvRecords,
  json: (texts, format) => readJsonRecords(readJsonArray(texts), format),
  jsonl: (texts, format) => readJsonRecords(readJsonLines(texts), format),
};

async function* readCsvRecords<T extends { readonly id: bigint }>(
  texts: AsyncIterable<string>,
  format: RecordFormat<T>,
): AsyncGenerator<Located<RecordChange<T>>, void, undefined> {
  let order: CellOrder | undefined;
  for await (const { line, value: cells } of readCsv(texts)) {
    if (order === undefined) {
      order = locating(line, () => parseCsvHeader(format, cells));
    } else {
      yield { line, value: recordAt(line, order, format, cells) };
    }
  }
  if (order === undefined) {
    throw new RecordError(1, "the header row is missing");
  }
}

function recordAt<T extends { readonly id: bigint }>(
  line: number,
  order: CellOrder,
  format: RecordFormat<T>,
  cells: readonly string[],
): RecordChange<T> {
  return locating(line, () => recordFromCells(format, order(cells)));
}

async function* readJsonRecords<T extends { readonly id: bigint }>(
  values: AsyncIterable<Located<unknown>>,
  format: RecordFormat<T>,
): AsyncGenerator<Located<RecordChange<T>>, void, undefined> {
  for await (const { line, value } of values) {
    yield { line, value: locating(line, () => recordFromJson(format, value)) };
  }
}

function locating<V>(line: number, read: () => V): V {
  try {
    return read();
  } catch (error) {
    throw error instanceof FieldError ? new RecordError(line, error.message) : error;
  }
}
