import type { RecordChange } from "../domain/catalog.ts";
import { mapKeyOf } from "../domain/ranges.ts";
import { formatCsvRow, readCsv } from "./csv.ts";
import { formatJsonLine, readJsonArray, readJsonLines } from "./json.ts";
import { FieldError, type Located, quote, RecordError } from "./record-error.ts";
import {
  columnNames,
  type RecordFormat,
  recordFromCells,
  recordFromJson,
  recordToCells,
  recordToJson,
  unknownName,
} from "./record-format.ts";
import { decodeUtf8 } from "./utf8.ts";

/** The formats of a file that can be read. */
export const fileFormats = ["csv", "json", "jsonl"] as const;

export type FileFormat = (typeof fileFormats)[number];

/**
 * Reads the records of a file as its bytes arrive. A record has all of its fields, or the id and the fields that
 * change. Throws `RecordError` at the first bad record, or repeated id. Adds the line of each id to `firstLines`.
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
    const known = order;
    if (known === undefined) {
      order = locating(line, () => parseCsvHeader(format, cells));
    } else {
      yield { line, value: locating(line, () => recordFromCells(format, known(cells))) };
    }
  }
  if (order === undefined) {
    throw new RecordError(1, "the header row is missing");
  }
}

/**
 * Puts the cells of a row in the order of the fields, with undefined for a field without a column. Throws `FieldError`
 * for too many or too few cells.
 */
type CellOrder = (cells: readonly string[]) => (string | undefined)[];

/**
 * Reads the header of a CSV file. It must have the id and at least one other column, each once, in any order. Throws
 * `FieldError`.
 */
function parseCsvHeader<T extends { readonly id: bigint }>(
  format: RecordFormat<T>,
  header: readonly string[],
): CellOrder {
  const names = columnNames(format);
  const unknown = unknownName(format, header);
  if (unknown !== undefined) {
    throw new FieldError(`${quote(unknown)} is not a column of ${format.plural}; the columns are ${names.join(",")}`);
  }
  if (!header.includes("id")) {
    throw new FieldError("the column id is missing");
  }
  const repeated = header.find((name, index) => header.indexOf(name) !== index);
  if (repeated !== undefined) {
    throw new FieldError(`the column ${repeated} appears twice`);
  }
  if (header.length === 1) {
    throw new FieldError("there is no column but id, so there is nothing to import");
  }
  const positions = names.map((name) => header.indexOf(name));
  return (cells) => {
    if (cells.length !== header.length) {
      throw new FieldError(`there must be ${header.length} cells, as in the header, not ${cells.length}`);
    }
    return positions.map((position) => cells[position]);
  };
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

/** How many entries V8 allows in a map. */
const maxMapSize = 2 ** 24;

/** The line of each id in a file. No id may appear twice. */
export class FirstLines {
  // A number takes a third of the memory of a bigint, and nearly all ids are safe integers.
  #newest = new Map<bigint | number, number>();
  readonly #maps = [this.#newest];
  readonly #mapSize: number;

  /** `mapSize` is how many entries one map holds. */
  constructor(mapSize = maxMapSize) {
    this.#mapSize = mapSize;
  }

  /** Throws `RecordError` when the id was on an earlier line. */
  add(id: bigint, line: number): void {
    const first = this.get(id);
    if (first !== undefined) {
      throw new RecordError(line, `id: ${id} is already on line ${first}`);
    }
    if (this.#newest.size === this.#mapSize) {
      this.#newest = new Map();
      this.#maps.push(this.#newest);
    }
    this.#newest.set(mapKeyOf(id), line);
  }

  /** The line of an id; undefined when it has not been read. */
  get(id: bigint): number | undefined {
    const key = mapKeyOf(id);
    return this.#maps.find((lines) => lines.has(key))?.get(key);
  }
}

/** The formats in which records are written. */
export const writtenFormats = ["csv", "jsonl"] as const;

export type WrittenFormat = (typeof writtenFormats)[number];

/** In characters: large enough for few system calls, small enough to need little memory. */
const chunkLength = 64 * 1024;

/** Writes records as the text of a file, in chunks. `readRecords` reads the same records from it. */
export async function* writeRecords<T extends { readonly id: bigint }>(
  records: AsyncIterable<T>,
  writtenFormat: WrittenFormat,
  recordFormat: RecordFormat<T>,
): AsyncGenerator<string, void, undefined> {
  const writer = writers[writtenFormat](recordFormat);
  let chunk = writer.header;
  for await (const record of records) {
    chunk += writer.write(record);
    if (chunk.length < chunkLength) {
      continue;
    }
    yield chunk;
    chunk = "";
  }
  if (chunk !== "") {
    yield chunk;
  }
}

type Writer = <T extends { readonly id: bigint }>(
  format: RecordFormat<T>,
) => { readonly header: string; write(record: T): string };

const writers: Record<WrittenFormat, Writer> = {
  csv: (format) => ({
    header: formatCsvRow(columnNames(format)),
    write: (record) => formatCsvRow(recordToCells(format, record)),
  }),
  jsonl: (format) => ({
    header: "",
    write: (record) => formatJsonLine(recordToJson(format, record)),
  }),
};
