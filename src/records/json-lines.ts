import { parseInteger } from "../exact-json/number.ts";
import { parseWithSource, rawJson } from "../exact-json/parse.ts";
import { type Located, maxRecordLength, RecordError } from "./record-error.ts";

/** Reads JSON Lines, one value a line. Blank lines are skipped. Throws `RecordError`. */
export async function* readJsonLines(texts: AsyncIterable<string>): AsyncGenerator<Located<unknown>, void, undefined> {
  let line = 1;
  let rest = "";
  for await (const text of texts) {
    const lines = text.split("\n");
    // Only the new text is split: scanning `rest` again for each piece of a long line would take quadratic time.
    lines[0] = rest + (lines[0] ?? "");
    rest = lines.pop() ?? "";
    if (rest.length > maxRecordLength) {
      throw new RecordError(line + lines.length, "the line is too long");
    }
    for (const each of lines) {
      yield* readLine(each, line);
      line += 1;
    }
  }
  yield* readLine(rest, line);
}

/** Writes a value as one line. Bigints become exact numbers. */
export function formatJsonLine(value: unknown): string {
  return `${JSON.stringify(value, (_key, part: unknown) => (typeof part === "bigint" ? rawJson(String(part)) : part))}\n`;
}

/**
 * Parses the JSON text of one record. Integers become exact bigints, however they are written (`3`, `3.0`, `30e-1`).
 * Other numbers, and those of more than 20 digits, stay as JSON.parse reads them. Throws `RecordError` with the given
 * line.
 */
export function parseJsonRecord(text: string, line: number): unknown {
  try {
    return parseWithSource(text, (_key, value, { source }) =>
      typeof value === "number" && source !== undefined ? (parseInteger(source) ?? value) : value,
    );
  } catch {
    throw new RecordError(line, "this is not valid JSON");
  }
}

function* readLine(text: string, line: number): Generator<Located<unknown>, void, undefined> {
  if (text.trim() !== "") {
    yield { line, value: parseJsonRecord(text, line) };
  }
}
