import { parseExactJson } from "./exact-json.ts";
import { type Located, maxRecordLength } from "./located.ts";
import { RecordError } from "./record-error.ts";

/** Reads JSON Lines, one value a line. Blank lines are passed over. Throws `RecordError`. */
export async function* readJsonLines(texts: AsyncIterable<string>): AsyncGenerator<Located<unknown>, void, undefined> {
  let line = 1;
  let rest = "";
  for await (const text of texts) {
    const lines = text.split("\n");
    // A long line that comes in many pieces is not to be looked over with each of them.
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

function* readLine(text: string, line: number): Generator<Located<unknown>, void, undefined> {
  if (text.trim() !== "") {
    yield { line, value: parseJsonAt(text, line) };
  }
}

/** Parses the JSON text of one record. Throws `RecordError`, with the given line. */
export function parseJsonAt(text: string, line: number): unknown {
  try {
    return parseExactJson(text);
  } catch {
    throw new RecordError(line, "this is not valid JSON");
  }
}
