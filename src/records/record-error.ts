import { invisible } from "../domain/masking.ts";
import { JsonNumber } from "../exact-json/number.ts";

/** A value that a record must not hold. The message says what is expected and quotes what was found. */
export class FieldError extends Error {
  override readonly name = "FieldError";
}

/** A bad record, with the line on which it starts, counted from 1. */
export class RecordError extends Error {
  override readonly name = "RecordError";
  readonly line: number;

  constructor(line: number, message: string) {
    super(message);
    this.line = line;
  }
}

/** Something read from a file, with the line on which it starts, counted from 1. */
export interface Located<T> {
  readonly line: number;
  readonly value: T;
}

/**
 * The longest record, in characters. No pet or order comes near it. A longer one has lost a quote or a brace, and would
 * otherwise pull the rest of the file into memory.
 */
export const maxRecordLength = 16 * 1024 * 1024;

/** The longest text that is quoted whole, in characters. */
const maxQuoted = 60;

/** Quotes untrusted text for a message, on one line. Invisible characters become escapes. Long text is cut. */
export function quote(text: string): string {
  return escapeInvisible(JSON.stringify(cut(text)));
}

function cut(text: string): string {
  return text.length > maxQuoted ? `${text.slice(0, maxQuoted)}…` : text;
}

/** Escapes what `JSON.stringify` leaves invisible, except for one character. */
export function escapeInvisible(json: string, except?: string): string {
  return json.replaceAll(invisible, (character) => (character === except ? character : escapeUnits(character)));
}

/** As in JSON, a character beyond U+FFFF becomes two escapes. */
function escapeUnits(character: string): string {
  const units = Array.from({ length: character.length }, (_, index) => character.charCodeAt(index));
  return units.map((unit) => `\\u${unit.toString(16).padStart(4, "0")}`).join("");
}

/** Describes a parsed JSON value for a message: text in quotes, a number as it is, anything else by its type. */
export function describeJson(value: unknown): string {
  if (typeof value === "string") {
    return quote(value);
  }
  if (Array.isArray(value)) {
    return "an array";
  }
  if (value instanceof JsonNumber) {
    return cut(value.source);
  }
  if (typeof value === "object" && value !== null) {
    return "an object";
  }
  return String(value);
}
