import { JsonNumber } from "./number.ts";

/** How deep arrays and objects may nest. It is the limit of protobuf's own parsers. */
export const maxJsonDepth = 100;

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
 * Parses a JSON text in UTF-8. A byte order mark is ignored, as RFC 8259, 8.1 allows. A number that a double would
 * change becomes a `JsonNumber`. The last value of a repeated key counts. V8 may misread a key with an escape: see
 * `test/exact-json/parse.test.ts`.
 *
 * Throws `JsonFault` for invalid UTF-8 or JSON, for nesting beyond `maxJsonDepth`, and for strings and keys with an
 * unpaired surrogate, which no protobuf string can hold.
 */
export function parseJson(bytes: Uint8Array): unknown {
  const text = decodeUtf8(bytes);
  // The depth is checked before the parser runs, because its reviver recurses.
  const { depth, hasPlainNumbers } = scanJson(text, maxJsonDepth);
  if (depth > maxJsonDepth) {
    throw new JsonFault(`must not nest deeper than ${maxJsonDepth} levels`);
  }
  const value = parseText(text, hasPlainNumbers);
  // The text was valid UTF-8, so an unpaired surrogate can only come from an escape.
  if (text.includes("\\u")) {
    assertWholeSurrogates(text);
  }
  return value;
}

const decoder = new TextDecoder("utf-8", { fatal: true });

function decodeUtf8(bytes: Uint8Array): string {
  try {
    return decoder.decode(bytes);
  } catch {
    throw new JsonFault("must be in UTF-8");
  }
}

/** Parses a text. A reviver takes several times as long as parsing, so it is used only if it would find something. */
function parseText(text: string, hasPlainNumbers: boolean): unknown {
  try {
    return hasPlainNumbers ? JSON.parse(text) : parseWithSource(text, keepSource);
  } catch {
    throw new JsonFault("must be valid JSON");
  }
}

const keepSource: SourceReviver = (_key, value, { source }) =>
  typeof value === "number" && source !== undefined && String(value) !== source ? new JsonNumber(source) : value;

/** A surrogate pair, an unpaired surrogate (the group), or any other escape. */
const escapes = /\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|u([dD][89a-fA-F])[0-9a-fA-F]{2}|.)/g;

function assertWholeSurrogates(text: string): void {
  for (const [, half] of text.matchAll(escapes)) {
    if (half !== undefined) {
      throw new JsonFault("must not hold half of a surrogate pair");
    }
  }
}

/** Replaces a parsed value. Primitives come with their source text. */
export type SourceReviver = (key: string, value: unknown, context: { readonly source?: string }) => unknown;

/*
 * JSON.parse with source text access: V8 has it, TypeScript's library lacks it.
 * Source: https://tc39.es/proposal-json-parse-with-source/
 */

/** `JSON.parse`, whose reviver sees the source text. Throws `SyntaxError`. */
export const parseWithSource = JSON.parse as (text: string, reviver: SourceReviver) => unknown;

/** Creates a value that `JSON.stringify` writes as this text. Throws `SyntaxError` unless it is a JSON primitive. */
export const { rawJSON: rawJson } = JSON as unknown as { readonly rawJSON: (text: string) => unknown };

/** What a scan finds in a JSON text before it is parsed. It has no meaning for a text that is not JSON. */
export interface JsonScan {
  /** How deep arrays and objects nest, up to one more than the limit. */
  readonly depth: number;
  /** Whether a double holds every number exactly as written: all are integers of 15 digits at most. */
  readonly hasPlainNumbers: boolean;
}

/** Scans a text once, without recursion. It stops where the text nests deeper than `maxDepth`. */
export function scanJson(text: string, maxDepth: number): JsonScan {
  let depth = 0;
  let deepest = 0;
  let digits = 0;
  let hasPlainNumbers = true;
  for (let index = 0; index < text.length && deepest <= maxDepth; index++) {
    const code = text.charCodeAt(index);
    if (code >= zero && code <= nine) {
      // `-0` is not plain: a double does not hold it as written. No digit follows a leading zero in valid JSON.
      digits += code === zero && digits === 0 && text.charCodeAt(index - 1) === minus ? maxPlainDigits + 1 : 1;
      hasPlainNumbers &&= digits <= maxPlainDigits;
      continue;
    }
    hasPlainNumbers &&= digits === 0 || (code !== dot && code !== lowerE && code !== upperE);
    digits = 0;
    if (code === quote) {
      index = stringEnd(text, index);
    } else if (code === openBracket || code === openBrace) {
      depth++;
      deepest = Math.max(deepest, depth);
    } else if (code === closeBracket || code === closeBrace) {
      depth--;
    }
  }
  return { depth: deepest, hasPlainNumbers };
}

const maxPlainDigits = 15;

const quote = 0x22;
const minus = 0x2d;
const dot = 0x2e;
const zero = 0x30;
const nine = 0x39;
const upperE = 0x45;
const openBracket = 0x5b;
const backslash = 0x5c;
const closeBracket = 0x5d;
const lowerE = 0x65;
const openBrace = 0x7b;
const closeBrace = 0x7d;

/** The index of the closing quotation mark of the string that opens at `start`. */
function stringEnd(text: string, start: number): number {
  let index = start + 1;
  while (index < text.length && text.charCodeAt(index) !== quote) {
    index += text.charCodeAt(index) === backslash ? 2 : 1;
  }
  return index;
}
