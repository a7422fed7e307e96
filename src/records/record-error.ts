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
