const noBytes: Buffer = Buffer.alloc(0);

/** The least room that is made, in bytes. */
const leastBytes = 1_024;

/**
 * Collects the pieces of a body side by side. A piece that was kept as it came would keep all of the memory that it came
 * in, 64 KiB for a single byte.
 */
export class ByteCollector {
  #bytes = noBytes;
  #length = 0;

  get length(): number {
    return this.#length;
  }

  add(piece: Uint8Array): void {
    const needed = this.#length + piece.length;
    if (needed > this.#bytes.length) {
      const larger: Buffer = Buffer.allocUnsafeSlow(Math.max(leastBytes, needed + Math.ceil(needed / 2)));
      this.#bytes.copy(larger, 0, 0, this.#length);
      this.#bytes = larger;
    }
    this.#bytes.set(piece, this.#length);
    this.#length = needed;
  }

  /** Takes all that was collected. */
  take(): Buffer {
    const taken = this.#bytes.subarray(0, this.#length);
    this.#bytes = noBytes;
    this.#length = 0;
    return taken;
  }
}

/** How many times its own memory a piece may keep. */
const maxShare = 4;

/** The piece, to be kept for a while: copied, if it is a small part of the memory that it came in. */
export function withoutRest(piece: Buffer): Buffer {
  if (maxShare * piece.length >= piece.buffer.byteLength) {
    return piece;
  }
  const copy = Buffer.allocUnsafeSlow(piece.length);
  piece.copy(copy);
  return copy;
}
