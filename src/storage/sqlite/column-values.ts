/** A row holds what is never written: the file is damaged, and SQLite does not see it. */
export class DamagedRowError extends Error {
  override readonly name = "DamagedRowError";
}

/*
 * SQLite holds types and words to the rules of their table when it writes, and not when it reads.
 */

/** Throws `DamagedRowError`. */
export function readInteger(value: unknown): bigint {
  if (typeof value !== "bigint") {
    throw new DamagedRowError("a row has no integer in the place of one");
  }
  return value;
}

/** One of the words that a column may hold, such as statuses. Throws `DamagedRowError`. */
export function readEnumText<Word extends string>(value: string, words: readonly Word[]): Word {
  const word = value as Word;
  if (!words.includes(word)) {
    throw new DamagedRowError("a row has another word than its column may hold");
  }
  return word;
}

/** A list of texts, which is kept as JSON. Throws `DamagedRowError`. */
export function readStringArray(json: string): string[] {
  const texts = parse(json);
  if (!Array.isArray(texts) || !texts.every((text) => typeof text === "string")) {
    throw new DamagedRowError("a row has no list of texts in the place of one");
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

/** For rows that are asked for by ascending id, as their tables have them. Throws `DamagedRowError`. */
export function assertAscending(rows: readonly { readonly id: bigint }[]): void {
  for (let index = 1; index < rows.length; index++) {
    if ((rows[index - 1] as { id: bigint }).id >= (rows[index] as { id: bigint }).id) {
      throw new DamagedRowError("rows are not in the order of their ids");
    }
  }
}
