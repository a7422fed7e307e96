import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { CsvError, type Info, type Options, type Parser, parse } from "csv-parse";
import { type Located, maxRecordLength, RecordError } from "./record-error.ts";
import { countNewlines } from "./utf8.ts";

/** Reads the rows of a CSV file (RFC 4180), including the header. Empty lines are skipped. Throws `RecordError`. */
export async function* readCsv(texts: AsyncIterable<string>): AsyncGenerator<Located<string[]>, void, undefined> {
  const lines = new RowLines();
  const parser = createParser(lines);
  // The pipeline destroys the parser when it fails, so the loop below sees the same error.
  pipeline(Readable.from(texts), parser).catch(() => undefined);
  try {
    for await (const row of parser) {
      yield row as Located<string[]>;
    }
  } catch (error) {
    if (!(error instanceof CsvError)) {
      throw error;
    }
    throw new RecordError(lines.current(parser.info), messages[error.code] ?? "this is not valid CSV");
  }
}

const quotable = /[",\r\n]/;

/** Writes one row of CSV with the line ending of RFC 4180. Cells are quoted only where they must be. */
export function formatCsvRow(cells: readonly string[]): string {
  return `${cells.map((cell) => (quotable.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell)).join(",")}\r\n`;
}

/** Counts the lines on which rows start. csv-parse cannot: it counts a CRLF within quotes as two lines. */
class RowLines {
  #next = 1;

  /** The line of the current row, given the number of empty lines before it. */
  current({ empty_lines: emptyLines }: Pick<Info, "empty_lines">): number {
    return this.#next + emptyLines;
  }

  /** Moves past a row. A quoted cell can hold newlines. */
  advance(cells: readonly string[]): void {
    this.#next += 1;
    for (const cell of cells) {
      this.#next += countNewlines(cell);
    }
  }
}

function createParser(lines: RowLines): Parser {
  const options: Options<Located<string[]>, string[]> = {
    record_delimiter: ["\r\n", "\n"],
    relax_column_count: true,
    skip_empty_lines: true,
    max_record_size: maxRecordLength,
    // csv-parse drops its buffered rows when it fails. Only this callback sees every row.
    on_record: (cells, info) => {
      const line = lines.current(info);
      lines.advance(cells);
      return { line, value: cells };
    },
  };
  // The types of csv-parse allow `on_record` to return something other than a row only for named columns.
  return parse(options as unknown as Options);
}

const messages: Partial<Record<string, string>> = {
  CSV_QUOTE_NOT_CLOSED: "a quote is opened here and never closed",
  CSV_INVALID_CLOSING_QUOTE: "a closing quote must be followed by a comma or the end of the line",
  INVALID_OPENING_QUOTE: "a cell with a quote in it must be quoted as a whole, and its quotes doubled",
  CSV_MAX_RECORD_SIZE: "the row is too long; is a quote left open?",
};
