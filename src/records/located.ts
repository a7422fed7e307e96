/** Something read from a file, with the line on which it starts, from 1. */
export interface Located<T> {
  readonly line: number;
  readonly value: T;
}

/**
 * The longest record, in characters. No pet or order comes near it: what does has lost a quote or a brace, and would
 * otherwise take the whole rest of the file into memory.
 */
export const maxRecordLength = 16 * 1024 * 1024;
