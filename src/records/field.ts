import { isInt64, maxInt64, minInt64 } from "../domain/ranges.ts";
import { formatListCell, parseListCell } from "./list-cell.ts";
import { describeJson, quote } from "./quotation.ts";
import { FieldError } from "./record-error.ts";

/** How a type of value is written in a CSV cell and in JSON. Both parsers throw `FieldError`. */
export interface FieldFormat<V> {
  parseCell(cell: string): V;
  formatCell(value: V): string;
  /** Reads a value that `parseJsonRecord` returned: integers are bigints. */
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
  parseJson: (value) => {
    if (typeof value === "bigint" && isInt64(value)) {
      return value;
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
export const truth: FieldFormat<boolean> = {
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
