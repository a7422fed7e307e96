import pg from "pg";

/** A value of a statement. Integers of 64 bits are read as bigint. */
export type Value =
  | bigint
  | number
  | string
  | boolean
  | Uint8Array
  | null
  | readonly (bigint | number | string | null)[];

const int64 = 20;
const text = 25;
const textArray = 1009;
const int64Array = 1016;

/** How the driver reads values. */
export const types = {
  getTypeParser(oid: number, format?: "text" | "binary"): (value: string) => unknown {
    switch (oid) {
      case int64:
        return BigInt;
      case text:
        return decodeText;
      case textArray:
        return (value) => decodeTexts(parseArray(oid, value) as string[]);
      case int64Array:
        return (value) => (parseArray(oid, value) as string[]).map(BigInt);
      default:
        return pg.types.getTypeParser(oid, format as "text");
    }
  },
};

function parseArray(oid: number, value: string): unknown {
  return pg.types.getTypeParser(oid, "text")(value);
}

/** Writes a value as the driver sends it. */
export function encode(value: Value): unknown {
  if (typeof value === "string") {
    return encodeText(value);
  }
  if (value instanceof Uint8Array) {
    return Buffer.from(value.buffer, value.byteOffset, value.byteLength);
  }
  if (Array.isArray(value)) {
    return writeArray(value);
  }
  return value;
}

/**
 * Writes an array as PostgreSQL reads it. The driver would quote numbers, too, and take three times as long.
 *
 * Source: https://www.postgresql.org/docs/15/arrays.html#ARRAYS-IO
 */
export function writeArray(items: readonly (bigint | number | string | null)[]): string {
  let text = "{";
  for (const item of items) {
    text += text.length > 1 ? "," : "";
    text += typeof item === "string" ? quote(encodeText(item)) : (item ?? "NULL");
  }
  return `${text}}`;
}

function quote(text: string): string {
  return `"${/["\\]/.test(text) ? text.replaceAll(/["\\]/g, "\\$&") : text}"`;
}

/*
 * PostgreSQL's texts cannot have U+0000, and those of the store may have it. So U+0000 is written as U+E000 and `0`.
 * U+E000, a private character that hardly anybody uses, is written as U+E000 and `1`.
 */

/** Writes a text as PostgreSQL can keep it. */
export function encodeText(text: string): string {
  return text.includes("\0") || text.includes("\uE000")
    ? text.replaceAll("\uE000", "\uE0001").replaceAll("\0", "\uE0000")
    : text;
}

/** Reads what `encodeText` has written. */
function decodeText(text: string): string {
  return text.includes("\uE000")
    ? text.replace(/\uE000([01])/g, (_, digit) => (digit === "0" ? "\0" : "\uE000"))
    : text;
}

function decodeTexts(texts: readonly string[]): string[] {
  return texts.map(decodeText);
}
