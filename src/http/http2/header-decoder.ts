import { type Field, makeField, staticTable } from "./field.ts";
import { ConnectionError, ErrorCode } from "./frames.ts";
import { decodeHuffman } from "./huffman.ts";

/** The size of the table that clients may use, in bytes: what they assume unasked. Source: RFC 9113, section 6.5.2 */
const maxTableBytes = 4_096;

/** As many fields as fit the table, and a power of two. */
const slots = 128;

/** What is read between two blocks, so that none is kept. */
const noBlock: Buffer = Buffer.alloc(0);

/**
 * Decodes the header blocks of one connection, in their order. Source: https://www.rfc-editor.org/rfc/rfc7541
 *
 * Fields that a client sends again come as their index, so that most blocks make no new text.
 */
export class HeaderDecoder {
  readonly #maxListBytes: number;
  /** The dynamic table, as a ring. The nth field that was added is at `n % slots`. */
  readonly #fields: (Field | undefined)[] = Array.from({ length: slots });
  #added = 0;
  #count = 0;
  #bytes = 0;
  #capacity = maxTableBytes;
  #block = noBlock;
  #at = 0;

  /** A list may have `maxListBytes`, each field's overhead included. */
  constructor(maxListBytes: number) {
    this.#maxListBytes = maxListBytes;
  }

  /** Decodes a whole block. Throws a `ConnectionError`, after which nothing further can be decoded. */
  decode(block: Buffer): Field[] {
    this.#block = block;
    this.#at = 0;
    const fields: Field[] = [];
    let bytes = 0;
    while (this.#at < block.length) {
      const field = this.#next(fields.length === 0);
      if (field !== undefined) {
        fields.push(field);
        bytes += field.size;
        if (bytes > this.#maxListBytes) {
          throw new ConnectionError(ErrorCode.enhanceYourCalm, "the headers are too large");
        }
      }
    }
    this.#block = noBlock;
    return fields;
  }

  /** Reads one representation; undefined for one that is no field. Source: RFC 7541, section 6 */
  #next(isFirst: boolean): Field | undefined {
    const byte = this.#block[this.#at] as number;
    if (byte >= 0x80) {
      return this.#fieldAt(this.#integer(0x7f));
    }
    if (byte >= 0x40) {
      const field = this.#literal(0x3f);
      this.#add(field);
      return field;
    }
    if (byte >= 0x20) {
      const capacity = this.#integer(0x1f);
      if (capacity > maxTableBytes || !isFirst) {
        throw wrong();
      }
      this.#capacity = capacity;
      this.#evict(capacity);
      return undefined;
    }
    return this.#literal(0x0f);
  }

  #literal(mask: number): Field {
    const index = this.#integer(mask);
    const name = index === 0 ? this.#text() : this.#fieldAt(index).name;
    return makeField(name, this.#text());
  }

  #fieldAt(index: number): Field {
    const nth = index - staticTable.length;
    const field = nth > 0 && nth <= this.#count ? this.#fields[(this.#added - nth) % slots] : staticTable[index - 1];
    if (field === undefined) {
      throw wrong();
    }
    return field;
  }

  /** Makes room before it adds, so that no slot is taken that is still in use. Source: RFC 7541, section 4.4 */
  #add(field: Field): void {
    this.#evict(Math.max(this.#capacity - field.size, 0));
    if (field.size > this.#capacity) {
      return;
    }
    this.#bytes += field.size;
    this.#fields[this.#added % slots] = field;
    this.#added += 1;
    this.#count += 1;
  }

  #evict(maxBytes: number): void {
    while (this.#bytes > maxBytes) {
      const oldest = (this.#added - this.#count) % slots;
      this.#bytes -= (this.#fields[oldest] as Field).size;
      this.#fields[oldest] = undefined;
      this.#count -= 1;
    }
  }

  #text(): string {
    const isHuffman = ((this.#block[this.#at] as number) & 0x80) !== 0;
    const length = this.#integer(0x7f);
    const start = this.#at;
    const end = start + length;
    if (end > this.#block.length) {
      throw wrong();
    }
    this.#at = end;
    return isHuffman ? decodeHuffman(this.#block, start, end) : this.#block.toString("latin1", start, end);
  }

  /** Reads an integer whose first bits are those of `mask`. Source: RFC 7541, section 5.1 */
  #integer(mask: number): number {
    let value = this.#byte() & mask;
    if (value < mask) {
      return value;
    }
    for (let shift = 0; shift <= 21; shift += 7) {
      const byte = this.#byte();
      value += (byte & 0x7f) << shift;
      if (byte < 0x80) {
        return value;
      }
    }
    throw wrong();
  }

  #byte(): number {
    const byte = this.#block[this.#at];
    if (byte === undefined) {
      throw wrong();
    }
    this.#at += 1;
    return byte;
  }
}

function wrong(): ConnectionError {
  return new ConnectionError(ErrorCode.compressionError, "a header block is wrong");
}
