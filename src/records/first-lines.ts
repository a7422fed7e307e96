import { RecordError } from "./record-error.ts";

/** The line of each id in a file. No id may appear twice. */
export class FirstLines {
  // A number takes a third of the memory of a bigint, and nearly all ids are safe integers.
  readonly #lines = new Map<bigint | number, number>();

  /** Throws `RecordError` when the id was on an earlier line. */
  add(id: bigint, line: number): void {
    const key = compact(id);
    const first = this.#lines.get(key);
    if (first !== undefined) {
      throw new RecordError(line, `id: ${id} is already on line ${first}`);
    }
    this.#lines.set(key, line);
  }

  /** The line of an id; undefined when it has not been read. */
  get(id: bigint): number | undefined {
    return this.#lines.get(compact(id));
  }
}

function compact(id: bigint): bigint | number {
  const number = Number(id);
  return Number.isSafeInteger(number) ? number : id;
}
