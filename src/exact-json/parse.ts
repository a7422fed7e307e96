import { isNumber, JsonNumber } from "./number.ts";

/** How deep arrays and objects may nest. It is the limit of protobuf's own parsers. */
export const maxJsonDepth = 100;

/**
 * How many values a body may hold: objects, arrays, and what is in them. Each costs memory and time, and a compressed
 * body of 4 KB could hold millions. The largest batch has some 8,000.
 */
export const maxJsonValues = 50_000;

/** A text is refused. `reason` completes "the text …". */
export class JsonFault extends Error {
  override readonly name = "JsonFault";
  readonly reason: string;

  constructor(reason: string) {
    super(`the text ${reason}`);
    this.reason = reason;
  }
}

/**
 * Parses the JSON text of a body, in UTF-8. A byte order mark is ignored, as RFC 8259, 8.1 allows. A number that a
 * double would change becomes a `JsonNumber`. The last value of a repeated name counts.
 *
 * `JSON.parse` could do the same with a reviver, which sees the source of numbers. But it takes several times as long.
 *
 * Throws `JsonFault` for invalid UTF-8 or JSON, for nesting beyond `maxJsonDepth`, for more than `maxJsonValues`, and
 * for strings and names with an unpaired surrogate, which no protobuf string can hold.
 */
export function parseJson(bytes: Uint8Array): unknown {
  let text: string;
  try {
    text = decoder.decode(bytes);
  } catch {
    throw new JsonFault("must be in UTF-8");
  }
  return new Parser(text, { allowsRepeatedNames: true, maxValues: maxJsonValues }).parse();
}

/** How a text is parsed. */
interface JsonTextOptions {
  /** Whether the last value of a repeated name counts. Otherwise a repeated name is a fault. */
  readonly allowsRepeatedNames: boolean;
  /** How many values the text may hold. */
  readonly maxValues: number;
}

/** Parses a JSON text, as `parseJson`. The text is well-formed Unicode. */
export function parseJsonText(text: string, options: JsonTextOptions): unknown {
  return new Parser(text, options).parse();
}

const decoder = new TextDecoder("utf-8", { fatal: true });

/** Goes through a text once. Source: RFC 8259 */
class Parser {
  readonly #text: string;
  /** Where the next character is. */
  #index = 0;
  #values = 0;
  readonly #allowsRepeatedNames: boolean;
  readonly #maxValues: number;

  constructor(text: string, { allowsRepeatedNames, maxValues }: JsonTextOptions) {
    this.#text = text;
    this.#allowsRepeatedNames = allowsRepeatedNames;
    this.#maxValues = maxValues;
  }

  /** The only value of the text. */
  parse(): unknown {
    const value = this.#parseValue(0);
    if (!Number.isNaN(this.#peek())) {
      throw notJson();
    }
    return value;
  }

  /** Skips blanks, and returns the code of the next character; NaN at the end. */
  #peek(): number {
    let code = this.#text.charCodeAt(this.#index);
    while (code <= space && (code === space || code === lineFeed || code === carriageReturn || code === tab)) {
      this.#index++;
      code = this.#text.charCodeAt(this.#index);
    }
    return code;
  }

  /** A value, inside of `depth` others. */
  #parseValue(depth: number): unknown {
    this.#values++;
    if (this.#values > this.#maxValues) {
      throw new JsonFault(`must not hold more than ${this.#maxValues} values`);
    }
    switch (this.#peek()) {
      case quote:
        return this.#parseString();
      case openBrace:
        return this.#parseObject(enter(depth));
      case openBracket:
        return this.#parseArray(enter(depth));
      case lowerT:
        return this.#parseWord("true", true);
      case lowerF:
        return this.#parseWord("false", false);
      case lowerN:
        return this.#parseWord("null", null);
      default:
        return this.#parseNumber();
    }
  }

  #parseObject(depth: number): Record<string, unknown> {
    const object: Record<string, unknown> = {};
    this.#index++;
    if (this.#peek() === closeBrace) {
      this.#index++;
      return object;
    }
    do {
      if (this.#peek() !== quote) {
        throw notJson();
      }
      const name = this.#parseString();
      if (!this.#allowsRepeatedNames && Object.hasOwn(object, name)) {
        throw new JsonFault(`must not have a name twice: ${JSON.stringify(name.slice(0, 40))}`);
      }
      if (this.#peek() !== colon) {
        throw notJson();
      }
      this.#index++;
      const value = this.#parseValue(depth);
      if (name === "__proto__") {
        Object.defineProperty(object, name, { value, enumerable: true, configurable: true, writable: true });
      } else {
        object[name] = value;
      }
    } while (this.#goesOn(closeBrace));
    return object;
  }

  #parseArray(depth: number): unknown[] {
    const array: unknown[] = [];
    this.#index++;
    if (this.#peek() === closeBracket) {
      this.#index++;
      return array;
    }
    do {
      array.push(this.#parseValue(depth));
    } while (this.#goesOn(closeBracket));
    return array;
  }

  /** Whether a comma follows, and not the end of an object or an array. */
  #goesOn(end: number): boolean {
    const code = this.#peek();
    if (code !== comma && code !== end) {
      throw notJson();
    }
    this.#index++;
    return code === comma;
  }

  #parseString(): string {
    const start = this.#index;
    let index = start + 1;
    let isEscaped = false;
    let code = this.#text.charCodeAt(index);
    while (code !== quote) {
      // Control characters must be escaped. At the end of the text, the code is NaN.
      if (!(code >= space)) {
        throw notJson();
      }
      if (code === backslash) {
        isEscaped = true;
        index++;
      }
      index++;
      code = this.#text.charCodeAt(index);
    }
    this.#index = index + 1;
    // V8 keeps a whole text alive for a slice of 13 characters. A request may be kept for as long as its stream is open.
    return isEscaped || index - start > 13
      ? decodeString(this.#text.slice(start, this.#index))
      : this.#text.slice(start + 1, index);
  }

  #parseNumber(): number | JsonNumber {
    const start = this.#index;
    let integer = 0;
    let code = this.#text.charCodeAt(this.#index);
    while (code >= zero && code <= nine) {
      integer = integer * 10 + code - zero;
      this.#index++;
      code = this.#text.charCodeAt(this.#index);
    }
    const digits = this.#index - start;
    // Most numbers are short integers, which this has read. All others are read from their text.
    const isInteger = digits > 0 && digits <= maxIntegerDigits && !isInNumber(code);
    if (isInteger && (digits === 1 || this.#text.charCodeAt(start) !== zero)) {
      return integer;
    }
    while (isInNumber(this.#text.charCodeAt(this.#index))) {
      this.#index++;
    }
    const source = this.#text.slice(start, this.#index);
    const double = Number(source);
    if (String(double) === source) {
      return double;
    }
    if (!isNumber(source)) {
      throw notJson();
    }
    return new JsonNumber(source);
  }

  #parseWord<T>(word: string, value: T): T {
    if (!this.#text.startsWith(word, this.#index)) {
      throw notJson();
    }
    this.#index += word.length;
    return value;
  }
}

/** Whether a parsed value is an object of JSON. */
export function isJsonObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value) && !(value instanceof JsonNumber);
}

function notJson(): JsonFault {
  return new JsonFault("must be valid JSON");
}

/** The depth inside of one more array or object. */
function enter(depth: number): number {
  if (depth === maxJsonDepth) {
    throw new JsonFault(`must not nest deeper than ${maxJsonDepth} levels`);
  }
  return depth + 1;
}

/** A copy of the value of a string, from its source. */
function decodeString(source: string): string {
  let value: string;
  try {
    value = JSON.parse(source);
  } catch {
    throw notJson();
  }
  // The text was valid UTF-8, so an unpaired surrogate can only come from an escape.
  if (!value.isWellFormed()) {
    throw new JsonFault("must not hold half of a surrogate pair");
  }
  return value;
}

/** Whether a number may have the character, by its code. */
function isInNumber(code: number): boolean {
  return (
    (code >= zero && code <= nine) ||
    code === dot ||
    code === minus ||
    code === lowerE ||
    code === upperE ||
    code === plus
  );
}

/** A double holds every integer of as many digits. */
const maxIntegerDigits = 15;

const tab = 0x09;
const lineFeed = 0x0a;
const carriageReturn = 0x0d;
const space = 0x20;
const quote = 0x22;
const plus = 0x2b;
const comma = 0x2c;
const minus = 0x2d;
const dot = 0x2e;
const zero = 0x30;
const nine = 0x39;
const colon = 0x3a;
const upperE = 0x45;
const openBracket = 0x5b;
const backslash = 0x5c;
const closeBracket = 0x5d;
const lowerE = 0x65;
const lowerF = 0x66;
const lowerN = 0x6e;
const lowerT = 0x74;
const openBrace = 0x7b;
const closeBrace = 0x7d;
