/** Bytes that are put together piece by piece, where they are to stand: pieces of their own would take as much again. */
export class ByteRun {
  #buffer: Buffer;
  #length = 0;

  /** `capacity`, in bytes, is better too large than too small: what is never written takes no memory. */
  constructor(capacity: number) {
    this.#buffer = Buffer.allocUnsafeSlow(capacity);
  }

  /** Adds text in UTF-8, or bytes, and returns the bytes as they stand in the run. */
  append(part: string | Uint8Array): Uint8Array {
    const start = this.#length;
    this.#length += Buffer.byteLength(part);
    this.#reserve(this.#length);
    if (typeof part === "string") {
      this.#buffer.write(part, start);
    } else {
      this.#buffer.set(part, start);
    }
    return this.#buffer.subarray(start, this.#length);
  }

  /** All of the bytes. Nothing must be added afterwards. */
  bytes(): Buffer {
    return this.#buffer.subarray(0, this.#length);
  }

  #reserve(length: number): void {
    if (length > this.#buffer.length) {
      const larger = Buffer.allocUnsafeSlow(2 * length);
      this.#buffer.copy(larger);
      this.#buffer = larger;
    }
  }
}
