import { CsvError, type Info, type Options, type Parser, parse } from "csv-parse";
import { type Located, maxRecordLength, RecordError } from "./record-error.ts";
import { countNewlines } from "./utf8.ts";

/** Reads the rows of a CSV file (RFC 4180), including the header. Empty lines are skipped. Throws `RecordError`. */
export async function* readCsv(texts: AsyncIterable<string>): AsyncGenerator<Located<string[]>, void, undefined> {
  const lines = new RowLines();
  const rows: Located<string[]>[] = [];
  const parser = createParser(lines, rows);
  try {
    // A pipeline would end `texts` only after an error is thrown, and the progress bar with it.
    for await (const text of texts) {
      await settled((done) => parser.write(text, done));
      yield* rows.splice(0);
    }
    await settled((done) => parser.end(done));
  } catch (error) {
    if (!(error instanceof CsvError)) {
      throw error;
    }
    yield* rows;
    throw new RecordError(lines.current(parser.info), messages[error.code] ?? "this is not valid CSV");
  }
  yield* rows;
}

function settled(use: (done: (error?: Error | null) => void) => void): Promise<void> {
  return new Promise((resolve, reject) => use((error) => (error ? reject(error) : resolve())));
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

/** Creates a parser that adds the rows of each written text to `rows`. */
function createParser(lines: RowLines, rows: Located<string[]>[]): Parser {
  const options: Options<never, string[]> = {
    record_delimiter: ["\r\n", "\n"],
    relax_column_count: true,
    skip_empty_lines: true,
    max_record_size: maxRecordLength,
    // As a stream, csv-parse drops its buffered rows when it fails. So it gets none: only this callback has every row.
    on_record: (cells, info) => {
      rows.push({ line: lines.current(info), value: cells });
      lines.advance(cells);
      return null;
    },
  };
  // Errors reach the callbacks of the writes.
  return parse(options).on("error", () => {});
}

const messages: Partial<Record<string, string>> = {
  CSV_QUOTE_NOT_CLOSED: "a quote is opened here and never closed",
  CSV_INVALID_CLOSING_QUOTE: "a closing quote must be followed by a comma or the end of the line",
  INVALID_OPENING_QUOTE: "a cell with a quote in it must be quoted as a whole, and its quotes doubled",
  CSV_MAX_RECORD_SIZE: "the row is too long; is a quote left open?",
};
