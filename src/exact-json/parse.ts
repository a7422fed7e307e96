import { JsonNumber } from "./number.ts";
import { scanJson } from "./scan.ts";

/** How deep arrays and objects may nest: as deep as protobuf's own parsers go. */
export const maxJsonDepth = 100;

/** Why a text is not taken. `reason` completes "the text …". */
export class JsonFault extends Error {
  override readonly name = "JsonFault";
  readonly reason: string;

  constructor(reason: string) {
    super(`the text ${reason}`);
    this.reason = reason;
  }
}

/**
 * Parses a JSON text in UTF-8; a byte order mark is ignored, as RFC 8259, 8.1 allows. A number that a double would not
 * give back as it was written becomes a `JsonNumber`. Of a key that is repeated the last value counts.
 *
 * Throws `JsonFault` for what is not UTF-8 or not JSON, for nesting beyond `maxJsonDepth`, and for strings and keys
 * with half a surrogate pair, which no protobuf string can hold.
 */
export function parseJson(bytes: Uint8Array): unknown {
  const text = decodeUtf8(bytes);
  // It comes before the parser, whose reviver recurses.
  const { depth, hasPlainNumbers } = scanJson(text, maxJsonDepth);
  if (depth > maxJsonDepth) {
    throw new JsonFault(`must not nest deeper than ${maxJsonDepth} levels`);
  }
  const value = parseText(text, hasPlainNumbers);
  // The text is well-formed itself, so half a pair can only come from an escape.
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

/** A reviver costs several times the parsing: it is spared where it would find nothing. */
function parseText(text: string, hasPlainNumbers: boolean): unknown {
  try {
    return hasPlainNumbers ? JSON.parse(text) : parseWithSource(text, keepSource);
  } catch {
    throw new JsonFault("must be valid JSON");
  }
}

const keepSource: SourceReviver = (_key, value, { source }) =>
  typeof value === "number" && source !== undefined && String(value) !== source ? new JsonNumber(source) : value;

/** A whole pair, half of one (the group), or any other escape. */
const escapes = /\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|u([dD][89a-fA-F])[0-9a-fA-F]{2}|.)/g;

function assertWholeSurrogates(text: string): void {
  for (const [, half] of text.matchAll(escapes)) {
    if (half !== undefined) {
      throw new JsonFault("must not hold half of a surrogate pair");
    }
  }
}

/** Takes a value that was parsed; of a number, string, `true`, `false` or `null` with how it stands in the text. */
export type SourceReviver = (key: string, value: unknown, context: { readonly source?: string }) => unknown;

/*
 * JSON.parse with source text access: V8 has it, TypeScript's library does not know it yet.
 * Source: https://tc39.es/proposal-json-parse-with-source/
 */

/** `JSON.parse`, whose reviver sees the source text. Throws `SyntaxError`. */
export const parseWithSource = JSON.parse as (text: string, reviver: SourceReviver) => unknown;

/** Makes a value that `JSON.stringify` writes as this text. Throws `SyntaxError` unless it is a JSON primitive. */
export const { rawJSON: rawJson } = JSON as unknown as { readonly rawJSON: (text: string) => unknown };
