/** A row holds a value that is never written: the file is damaged in a way that SQLite does not notice. */
export class DamagedRowError extends Error {
  override readonly name = "DamagedRowError";
}

/*
 * SQLite checks types and CHECK constraints when it writes, but not when it reads.
 */

/** Throws `DamagedRowError`. */
export function readInteger(value: unknown): bigint {
  if (typeof value !== "bigint") {
    throw new DamagedRowError("a row has no integer in an integer column");
  }
  return value;
}

/** Reads one of the texts that a column may hold, such as a status. Throws `DamagedRowError`. */
export function readEnumText<Word extends string>(value: string, words: readonly Word[]): Word {
  const word = value as Word;
  if (!words.includes(word)) {
    throw new DamagedRowError("a row has a text that its column may not hold");
  }
  return word;
}

/** Reads a list of texts, which is stored as JSON. Throws `DamagedRowError`. */
export function readStringArray(json: string): string[] {
  const texts = parse(json);
  if (!Array.isArray(texts) || !texts.every((text) => typeof text === "string")) {
    throw new DamagedRowError("a row has no list of texts in the column of one");
  }
  return texts;
}

function parse(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    return undefined;
  }
}

/** Asserts the order of rows that were selected by ascending id. Throws `DamagedRowError`. */
export function assertAscending(rows: readonly { readonly id: bigint }[]): void {
  for (let index = 1; index < rows.length; index++) {
    if ((rows[index - 1] as { id: bigint }).id >= (rows[index] as { id: bigint }).id) {
      throw new DamagedRowError("rows are not in the order of their ids");
    }
  }
}
