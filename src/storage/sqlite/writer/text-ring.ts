/** The most bytes of UTF-8 that a UTF-16 code unit takes. */
const bytesPerUnit = 3;

/**
 * Texts in memory that two threads share, in UTF-8. One thread puts them, and frees the oldest ones; the other reads
 * them. Both find a text by its place and its length in bytes.
 */
export class TextRing {
  readonly #bytes: Buffer;
  /** How many bytes have ever been used, and freed. Bytes that are skipped at the end of the ring count. */
  #used = 0;
  #freed = 0;

  constructor(memory: SharedArrayBuffer, start: number, byteLength: number) {
    this.#bytes = Buffer.from(memory, start, byteLength);
  }

  /** What `free` takes to free all texts that have been put so far. */
  get mark(): number {
    return this.#used;
  }

  /** Where the next text goes. */
  get place(): number {
    return this.#used % this.#bytes.length;
  }

  /** Makes room for texts of so many UTF-16 code units, one after the other. False when there is none. */
  reserve(units: number): boolean {
    const needed = units * bytesPerUnit;
    const left = this.#bytes.length - this.place;
    const skipped = needed > left ? left : 0;
    if (this.#used + skipped + needed - this.#freed > this.#bytes.length) {
      return false;
    }
    this.#used += skipped;
    return true;
  }

  /** Puts a text, for which there is room, and returns its length in bytes. */
  put(text: string): number {
    const length = this.#bytes.write(text, this.place);
    this.#used += length;
    return length;
  }

  read(place: number, length: number): string {
    return this.#bytes.toString("utf8", place, place + length);
  }

  /** Frees all texts that were put before a mark. */
  free(mark: number): void {
    this.#freed = mark;
  }
}
