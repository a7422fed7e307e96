import { RecordError } from "./record-error.ts";

/** Remembers on which line each id stood first, so that no file says two things of one record. */
export class FirstLines {
  // Small numbers take a third of the room of bigints, and nearly all ids are small.
  readonly #lines = new Map<bigint | number, number>();

  /** Throws `RecordError` when the id has stood on another line already. */
  add(id: bigint, line: number): void {
    const key = compact(id);
    const first = this.#lines.get(key);
    if (first !== undefined) {
      throw new RecordError(line, `id: ${id} stands on line ${first} already`);
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
