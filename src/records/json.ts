import { rawJson } from "../exact-json/number.ts";
import { JsonFault, parseJsonText } from "../exact-json/parse.ts";
import { escapeInvisible, type Located, maxRecordLength, RecordError } from "./record-error.ts";
import { countNewlines } from "./utf8.ts";

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
 * Parses the JSON text of one record. Its length bounds how many values it holds. Throws `RecordError` with the given
 * line.
 */
function parseJsonRecord(text: string, line: number): unknown {
  try {
    return parseJsonText(text, { allowsRepeatedNames: false, maxValues: Number.POSITIVE_INFINITY });
  } catch (error) {
    throw error instanceof JsonFault ? new RecordError(line, escapeInvisible(`the record ${error.reason}`)) : error;
  }
}

function* readLine(text: string, line: number): Generator<Located<unknown>, void, undefined> {
  if (text.trim() !== "") {
    yield { line, value: parseJsonRecord(text, line) };
  }
}

/** Reads the elements of a JSON array one by one, as they arrive. Throws `RecordError`. */
export async function* readJsonArray(texts: AsyncIterable<string>): AsyncGenerator<Located<unknown>, void, undefined> {
  const splitter = new ArraySplitter();
  for await (const text of texts) {
    yield* splitter.split(text);
  }
  splitter.end();
}

// An escape in a string, the end of a string, a bracket or a comma.
const delimiter = /\\[\s\S]?|["[\]{},]/g;
const blank = /^[ \t\n\r]*$/;
const leadingBlank = /^[ \t\n\r]*/;

/** Finds the ends of elements from strings and brackets alone. The parser checks what is inside an element. */
class ArraySplitter {
  /** The text since the last cut, and the line on which it starts. */
  #pending = "";
  #line = 1;
  /** The number of open brackets, including that of the array. */
  #depth = 0;
  #inString = false;
  #seen: "nothing" | "opening" | "element" | "closing" = "nothing";
  /** A backslash at the end of a chunk. The character that it escapes is in the next chunk. */
  #halfEscape = "";

  *split(chunk: string): Generator<Located<unknown>, void, undefined> {
    const text = this.#halfEscape + chunk;
    this.#halfEscape = "";
    let start = 0;
    for (const { 0: char, index } of text.matchAll(delimiter)) {
      if (char === "\\") {
        this.#halfEscape = char;
      }
      if (!this.#cutsAt(char)) {
        continue;
      }
      yield* this.#cut(this.#pending + text.slice(start, index), char);
      this.#pending = "";
      start = index + 1;
    }
    this.#pending += text.slice(start, text.length - this.#halfEscape.length);
    if (this.#pending.length > maxRecordLength) {
      throw this.#error("the element is too long");
    }
  }

  /** Throws `RecordError` unless the array is complete. */
  end(): void {
    if (this.#seen === "nothing") {
      throw this.#error("this is not a JSON array: it must begin with [");
    }
    if (this.#seen !== "closing") {
      throw this.#error("the array is not complete: its ] is missing");
    }
    if (!blank.test(this.#pending)) {
      throw this.#error("nothing may follow the array");
    }
  }

  /** Tracks strings and brackets. Returns whether this delimiter is the bound of an element or of the array. */
  #cutsAt(char: string): boolean {
    if (char === '"') {
      this.#inString = !this.#inString;
    }
    if (this.#inString || char === '"' || char.startsWith("\\")) {
      return false;
    }
    if (char === "[" || char === "{") {
      this.#depth += 1;
      return this.#depth === 1;
    }
    if (char === ",") {
      return this.#depth === 1;
    }
    this.#depth -= 1;
    return this.#depth === 0;
  }

  *#cut(text: string, char: string): Generator<Located<unknown>, void, undefined> {
    this.#pending = text;
    if (this.#depth === 1 && char !== ",") {
      this.#open(char);
    } else {
      yield* this.#finishElement(char);
    }
    this.#line += countNewlines(text);
  }

  #open(char: string): void {
    if (this.#seen !== "nothing") {
      throw this.#error("nothing may follow the array");
    }
    if (char !== "[" || !blank.test(this.#pending)) {
      throw this.#error("this is not a JSON array: it must begin with [");
    }
    this.#seen = "opening";
  }

  *#finishElement(char: string): Generator<Located<unknown>, void, undefined> {
    if (char === "}") {
      throw this.#error("found } where the array should end");
    }
    const isEmptyArray = char === "]" && this.#seen === "opening";
    if (blank.test(this.#pending)) {
      if (!isEmptyArray) {
        throw this.#error("an element is missing beside a comma");
      }
    } else {
      yield { line: this.#startLine(), value: parseJsonRecord(this.#pending, this.#startLine()) };
    }
    this.#seen = char === "]" ? "closing" : "element";
  }

  /** The line of the first character that is not blank. */
  #startLine(): number {
    return this.#line + countNewlines(leadingBlank.exec(this.#pending)?.[0] ?? "");
  }

  #error(message: string): RecordError {
    return new RecordError(this.#startLine(), message);
  }
}
