import { JsonNumber } from "./number.ts";
import { scanJson } from "./scan.ts";

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
 * change becomes a `JsonNumber`. The last value of a repeated key counts.
 *
 * Throws `JsonFault` for invalid UTF-8 or JSON, for nesting beyond `maxJsonDepth`, and for strings and keys with half a
 * surrogate pair, which no protobuf string can hold.
 */
export function parseJson(bytes: Uint8Array): unknown {
  const text = decodeUtf8(bytes);
  // This must come before the parser, whose reviver recurses.
  const { depth, hasPlainNumbers } = scanJson(text, maxJsonDepth);
  if (depth > maxJsonDepth) {
    throw new JsonFault(`must not nest deeper than ${maxJsonDepth} levels`);
  }
  const value = parseText(text, hasPlainNumbers);
  // The text is well-formed, so half a pair can only come from an escape.
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

/** A reviver takes several times as long as parsing. It is used only where it would find something. */
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
