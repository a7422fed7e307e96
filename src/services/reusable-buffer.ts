/**
 * Bytes that are put together piece by piece, where they are to stand: pieces of their own would take as much again.
 * While they are those of a former run, they are the former run, and take no memory.
 */
export class ReusableBuffer {
  readonly #capacity: number;
  readonly #former: Uint8Array;
  /** Undefined while all bytes are those of the former run. */
  #own: Buffer | undefined;
  #length = 0;

  /** `capacity`, in bytes, is better too large than too small: what is never written takes no memory. */
  constructor(capacity: number, former: Uint8Array = new Uint8Array()) {
    this.#capacity = capacity;
    this.#former = former;
  }

  /** Adds text in UTF-8, or bytes, and returns the bytes as they stand in the run. */
  append(part: string | Uint8Array): Uint8Array {
    const bytes = typeof part === "string" ? encode(part) : part;
    const start = this.#length;
    const end = start + bytes.length;
    if (this.#own === undefined && !isAt(this.#former, start, bytes)) {
      this.#own = Buffer.allocUnsafeSlow(Math.max(this.#capacity, end));
      this.#own.set(this.#former.subarray(0, start));
    }
    if (this.#own !== undefined) {
      this.#own = withCapacity(this.#own, end);
      this.#own.set(bytes, start);
    }
    this.#length = end;
    return (this.#own ?? this.#former).subarray(start, end);
  }

  /** All of the bytes. Nothing must be added afterwards. */
  bytes(): Uint8Array {
    const all = this.#own ?? this.#former;
    return all.length === this.#length ? all : all.subarray(0, this.#length);
  }
}

/** Text is encoded here: memory of its own for each part would have all of the heap collected again and again. */
const scratch = Buffer.allocUnsafeSlow(64 * 1024);

/** The bytes are good until the next call. */
function encode(text: string): Uint8Array {
  const length = Buffer.byteLength(text);
  return length > scratch.length ? Buffer.from(text) : scratch.subarray(0, scratch.write(text));
}

function isAt(whole: Uint8Array, start: number, part: Uint8Array): boolean {
  return start + part.length <= whole.length && Buffer.compare(whole.subarray(start, start + part.length), part) === 0;
}

function withCapacity(buffer: Buffer, length: number): Buffer {
  if (length <= buffer.length) {
    return buffer;
  }
  const larger = Buffer.allocUnsafeSlow(2 * length);
  larger.set(buffer);
  return larger;
}
