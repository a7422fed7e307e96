import { parseWithSource, type SourceReviver } from "../exact-json/source.ts";
import { ContentFault } from "./content-fault.ts";
import { JsonNumber } from "./json-number.ts";

/** How deep arrays and objects may nest: as deep as protobuf's own parsers go. */
export const maxJsonDepth = 100;

/**
 * Parses a JSON text in UTF-8; a byte order mark is ignored, as RFC 8259, 8.1 allows. A number that a double would not
 * give back as it was written becomes a `JsonNumber`. Of a key that is repeated the last value counts.
 *
 * Throws `ContentFault` for what is not UTF-8 or not JSON, for nesting beyond `maxJsonDepth`, and for strings and keys
 * with half a surrogate pair, which no protobuf string can hold.
 */
export function parseJson(bytes: Uint8Array): unknown {
  const text = decodeUtf8(bytes);
  assertDepth(text);
  const value = parseText(text);
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
    throw new ContentFault("must be in UTF-8");
  }
}

function parseText(text: string): unknown {
  try {
    return parseWithSource(text, keepSource);
  } catch {
    throw new ContentFault("must be valid JSON");
  }
}

const keepSource: SourceReviver = (_key, value, { source }) =>
  typeof value === "number" && source !== undefined && String(value) !== source ? new JsonNumber(source) : value;

/** It comes before the parser, whose reviver recurses. */
function assertDepth(text: string): void {
  let depth = 0;
  for (let index = 0; index < text.length; index++) {
    switch (text.charCodeAt(index)) {
      case quote:
        index = stringEnd(text, index);
        break;
      case openBracket:
      case openBrace:
        depth++;
        if (depth > maxJsonDepth) {
          throw new ContentFault(`must not nest deeper than ${maxJsonDepth} levels`);
        }
        break;
      case closeBracket:
      case closeBrace:
        depth--;
        break;
    }
  }
}

const quote = 0x22;
const backslash = 0x5c;
const openBracket = 0x5b;
const closeBracket = 0x5d;
const openBrace = 0x7b;
const closeBrace = 0x7d;

/** The index of the quotation mark that ends the string which one at `start` begins. */
function stringEnd(text: string, start: number): number {
  let index = start + 1;
  while (index < text.length && text.charCodeAt(index) !== quote) {
    index += text.charCodeAt(index) === backslash ? 2 : 1;
  }
  return index;
}

/** A whole pair, half of one (the group), or any other escape. */
const escapes = /\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|u([dD][89a-fA-F])[0-9a-fA-F]{2}|.)/g;

function assertWholeSurrogates(text: string): void {
  for (const [, half] of text.matchAll(escapes)) {
    if (half !== undefined) {
      throw new ContentFault("must not hold half of a surrogate pair");
    }
  }
}
