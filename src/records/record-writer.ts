import { formatCsvRow } from "./csv.ts";
import { formatJsonLine } from "./json.ts";
import { columnNames, type RecordFormat, recordToCells, recordToJson } from "./record-format.ts";

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
