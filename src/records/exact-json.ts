import { parseInteger } from "../exact-json/number.ts";
import { parseWithSource, rawJson } from "../exact-json/source.ts";

/**
 * Parses JSON with its integers as exact bigints, however they are written (`3`, `3.0`, `30e-1`). Other numbers, and
 * those of more than 20 digits, stay as JSON.parse reads them. Throws `SyntaxError`.
 */
export function parseExactJson(text: string): unknown {
  return parseWithSource(text, (_key, value, { source }) =>
    typeof value === "number" && source !== undefined ? (parseInteger(source) ?? value) : value,
  );
}

/** Writes JSON with bigints as exact numbers. */
export function stringifyExactJson(value: unknown): string {
  return JSON.stringify(value, (_key, part: unknown) => (typeof part === "bigint" ? rawJson(String(part)) : part));
}
