import { type Field, makeField, staticTable } from "./field.ts";
import { ConnectionError, ErrorCode } from "./frames.ts";
import { decodeHuffman } from "./huffman.ts";

/**
 * The largest dynamic table that a client may use, in bytes: the default of SETTINGS_HEADER_TABLE_SIZE.
 * Source: RFC 9113, section 6.5.2
 */
const maxTableBytes = 4_096;

/** The most fields that fit into the table: each takes at least `fieldOverhead` bytes. It is a power of two. */
const slots = 128;

/** Replaces a decoded block, so that the decoder does not keep its memory. */
const noBlock: Buffer = Buffer.alloc(0);

/**
 * Decodes the header blocks of one connection, in their order.
 * Source: https://www.rfc-editor.org/rfc/rfc7541
 *
 * A client sends a repeated field as an index, so most blocks create no new strings.
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

  /** `maxListBytes` is the largest size of a list that is returned whole, each field's overhead included. */
  constructor(maxListBytes: number) {
    this.#maxListBytes = maxListBytes;
  }

  /**
   * Decodes a complete block. A list that is too large ends with the field that exceeds the limit. The later fields are
   * decoded, too, because they change the table. Throws a `ConnectionError` if the block is invalid. After that, the
   * decoder cannot be used any more.
   */
  decode(block: Buffer): Field[] {
    this.#block = block;
    this.#at = 0;
    const fields: Field[] = [];
    let bytes = 0;
    while (this.#at < block.length) {
      const field = this.#next(fields.length === 0);
      if (field !== undefined && bytes <= this.#maxListBytes) {
        fields.push(field);
        bytes += field.size;
      }
    }
    this.#block = noBlock;
    return fields;
  }

  /**
   * Reads one representation. Returns undefined for an update of the table size, which is no field.
   * Source: RFC 7541, section 6
   */
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
        throw malformedBlock();
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
      throw malformedBlock();
    }
    return field;
  }

  /** Evicts old fields before it adds one, so that it never overwrites a slot in use. Source: RFC 7541, section 4.4 */
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
      throw malformedBlock();
    }
    this.#at = end;
    return isHuffman ? decodeHuffman(this.#block, start, end) : this.#block.toString("latin1", start, end);
  }

  /** Reads an integer whose prefix has the bits of `mask`. Source: RFC 7541, section 5.1 */
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
    throw malformedBlock();
  }

  #byte(): number {
    const byte = this.#block[this.#at];
    if (byte === undefined) {
      throw malformedBlock();
    }
    this.#at += 1;
    return byte;
  }
}

function malformedBlock(): ConnectionError {
  return new ConnectionError(ErrorCode.compressionError, "a header block is wrong");
}
