import { isInt64, maxInt64, maxTimestampMs, minInt64, minTimestampMs } from "../domain/ranges.ts";
import { JsonNumber, parseInteger } from "../exact-json/number.ts";
import { describeJson, FieldError, quote } from "./record-error.ts";

/** How a type of value is written in a CSV cell and in JSON. Both parsers throw `FieldError`. */
export interface FieldFormat<V> {
  parseCell(cell: string): V;
  formatCell(value: V): string;
  /** Reads a value from a JSON file, as `parseJsonText` returns it. */
  parseJson(value: unknown): V;
  /** Returns a value for `formatJsonLine`. */
  formatJson(value: V): unknown;
}

const int64Range = `must be an integer from ${minInt64} to ${maxInt64}`;

/** Any int64: plain decimal digits in a cell, a number in JSON. */
export const int64: FieldFormat<bigint> = {
  parseCell: (cell) => {
    const value = /^(?:0|-?[1-9]\d{0,18})$/.test(cell) ? BigInt(cell) : undefined;
    if (value === undefined || !isInt64(value)) {
      throw new FieldError(`${int64Range}, not ${quote(cell)}`);
    }
    return value;
  },
  formatCell: String,
  /** `3.0` and `30e-1` are integers, too. */
  parseJson: (value) => {
    const source = value instanceof JsonNumber ? value.source : typeof value === "number" ? String(value) : "";
    const integer = parseInteger(source);
    if (integer !== undefined && isInt64(integer)) {
      return integer;
    }
    throw new FieldError(`${int64Range}, not ${describeJson(value)}`);
  },
  formatJson: (value) => value,
};

/** Any text, or none, in well-formed Unicode without NUL. */
export const text: FieldFormat<string> = {
  parseCell: checkText,
  formatCell: (value) => value,
  parseJson: (value) => {
    if (typeof value === "string") {
      return checkText(value);
    }
    throw new FieldError(`must be text, not ${describeJson(value)}`);
  },
  formatJson: (value) => value,
};

/** A list of texts: `a;b` in a cell (see `parseListCell`), an array in JSON. */
export const textList: FieldFormat<readonly string[]> = {
  parseCell: (cell) => parseListCell(checkText(cell)),
  formatCell: formatListCell,
  parseJson: (value) => {
    if (Array.isArray(value)) {
      return value.map((each) => text.parseJson(each));
    }
    throw new FieldError(`must be an array of texts, not ${describeJson(value)}`);
  },
  formatJson: (value) => value,
};

/** True or false. */
export const boolean: FieldFormat<boolean> = {
  parseCell: (cell) => {
    if (cell === "true" || cell === "false") {
      return cell === "true";
    }
    throw new FieldError(`must be true or false, not ${quote(cell)}`);
  },
  formatCell: String,
  parseJson: (value) => {
    if (typeof value === "boolean") {
      return value;
    }
    throw new FieldError(`must be true or false, not ${describeJson(value)}`);
  },
  formatJson: (value) => value,
};

/** A moment in milliseconds since the Unix epoch, written as RFC 3339. */
export const timestamp: FieldFormat<number> = {
  parseCell: (cell) => {
    const timeMs = parseTimestamp(cell);
    if (timeMs !== undefined) {
      return timeMs;
    }
    throw new FieldError(
      `must be an RFC 3339 date and time no finer than a millisecond, such as 2026-06-01T12:00:00Z, not ${quote(cell)}`,
    );
  },
  formatCell: formatTimestamp,
  parseJson: (value) => timestamp.parseCell(text.parseJson(value)),
  formatJson: formatTimestamp,
};

/** One of the given words. */
export function oneOf<W extends string>(words: readonly W[]): FieldFormat<W> {
  const find = (value: unknown): W => {
    const word = words.find((each) => each === value);
    if (word !== undefined) {
      return word;
    }
    throw new FieldError(`must be one of ${words.join(", ")}, not ${describeJson(value)}`);
  };
  return { parseCell: find, formatCell: (word) => word, parseJson: find, formatJson: (word) => word };
}

function checkText(value: string): string {
  if (value.includes("\0")) {
    throw new FieldError("must not contain the character NUL");
  }
  if (!value.isWellFormed()) {
    throw new FieldError("must be well-formed Unicode, without half of a surrogate pair");
  }
  return value;
}

// An empty cell is the empty list, so a list of one empty text needs a sign of its own.
const oneEmptyText = "\\";

// A character that would be read as an escape or as a separator.
const ambiguous = /\\(?=[\\;]|$)|;/g;
// An escaped character, a separator, a run of plain characters, or a backslash that escapes nothing.
const token = /\\([\\;])|;|[^\\;]+|\\/g;

/**
 * Reads a list from one CSV cell: elements separated by `;`. `\;` is a semicolon and `\\` a backslash; a backslash
 * before anything else stands for itself. An empty cell is the empty list; a lone `\` is a list of one empty text.
 */
function parseListCell(cell: string): string[] {
  if (cell === "") {
    return [];
  }
  if (cell === oneEmptyText) {
    return [""];
  }
  if (!cell.includes("\\")) {
    return cell.split(";");
  }
  return splitEscaped(cell);
}

/** The inverse of `parseListCell`. Only characters that would be misread are escaped. */
function formatListCell(list: readonly string[]): string {
  if (list.length === 1 && list[0] === "") {
    return oneEmptyText;
  }
  return list.map((text) => text.replace(ambiguous, "\\$&")).join(";");
}

function splitEscaped(cell: string): string[] {
  const elements: string[] = [];
  let current = "";
  for (const [text, escaped] of cell.matchAll(token)) {
    if (text === ";") {
      elements.push(current);
      current = "";
    } else {
      current += escaped ?? text;
    }
  }
  return [...elements, current];
}

// RFC 3339, section 5.6: date-time.
const dateTime = /^(\d{4})-(\d{2})-(\d{2})[Tt](\d{2}):(\d{2}):(\d{2})(?:\.(\d+))?(?:[Zz]|([+-])(\d{2}):(\d{2}))$/;

/**
 * Reads an RFC 3339 date and time of the years 1 to 9999. Undefined for anything else: a day that does not exist, a leap
 * second, or a fraction finer than a millisecond.
 */
function parseTimestamp(text: string): number | undefined {
  const match = dateTime.exec(text);
  if (match === null) {
    return undefined;
  }
  const [, year, month, day, hour, minute, second, fraction = "", sign = "+", offsetHour = "0", offsetMinute = "0"] =
    match;
  if (Number(offsetHour) > 23 || Number(offsetMinute) > 59 || !/^\d{0,3}0*$/.test(fraction)) {
    return undefined;
  }
  const utc = `${year}-${month}-${day}T${hour}:${minute}:${second}.${fraction.slice(0, 3).padEnd(3, "0")}Z`;
  const utcMs = Date.parse(utc);
  // Date reads 30 February as 1 March, and 24:00 as the next day. A valid date comes out as it went in.
  if (Number.isNaN(utcMs) || new Date(utcMs).toISOString() !== utc) {
    return undefined;
  }
  const offsetMs = (Number(offsetHour) * 60 + Number(offsetMinute)) * 60_000;
  return inRange(sign === "-" ? utcMs + offsetMs : utcMs - offsetMs);
}

/** In UTC, with milliseconds only where they are not zero. */
function formatTimestamp(timeMs: number): string {
  return new Date(timeMs).toISOString().replace(".000Z", "Z");
}

function inRange(timeMs: number): number | undefined {
  return timeMs >= minTimestampMs && timeMs <= maxTimestampMs ? timeMs : undefined;
}
