/** A value that a record may not hold. The message says what is expected, and shows what was found. */
export class FieldError extends Error {
  override readonly name = "FieldError";
}

/** A bad record, with the line on which it starts, from 1. */
export class RecordError extends Error {
  override readonly name = "RecordError";
  readonly line: number;

  constructor(line: number, message: string) {
    super(message);
    this.line = line;
  }
}
