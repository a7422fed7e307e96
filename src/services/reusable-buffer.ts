/**
 * Builds a buffer part by part. As long as the parts equal those of the former buffer, it reuses the former buffer, and
 * allocates no memory.
 */
export class ReusableBuffer {
  readonly #capacity: number;
  readonly #former: Uint8Array;
  /** Undefined while all bytes equal the former ones. */
  #own: Buffer | undefined;
  #length = 0;

  /** `capacity` is in bytes. It may be generous: the system gives memory only to what is written. */
  constructor(capacity: number, former: Uint8Array = new Uint8Array()) {
    this.#capacity = capacity;
    this.#former = former;
  }

  /** Appends bytes, or text in UTF-8. Returns the bytes in the buffer. */
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

  /** All of the bytes. Nothing may be appended afterwards. */
  bytes(): Uint8Array {
    const all = this.#own ?? this.#former;
    return all.length === this.#length ? all : all.subarray(0, this.#length);
  }
}

/** Where text is encoded: buffers for each part would trigger full garbage collections. */
const scratch = Buffer.allocUnsafeSlow(64 * 1024);

/** The bytes are valid until the next call. */
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
