import { type Field, makeField, staticTable } from "./field.ts";
import { ConnectionError, ErrorCode } from "./frames.ts";

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
        throw compressionError();
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
      throw compressionError();
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
      throw compressionError();
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
    throw compressionError();
  }

  #byte(): number {
    const byte = this.#block[this.#at];
    if (byte === undefined) {
      throw compressionError();
    }
    this.#at += 1;
    return byte;
  }
}

/** How many bits are looked up at a time. */
const stepBits = 8;

/**
 * A lookup table for the next `stepBits` bits. An entry is the decoded byte with the length of its code, as
 * `length << 8 | byte`. For a code that is longer, it is the table for the bits that follow. A missing entry is no
 * code.
 */
type HuffmanTable = (number | HuffmanTable | undefined)[];

let huffmanTable: HuffmanTable | undefined;

/** Decodes a text. Throws a `ConnectionError` if a code or the padding is invalid. */
export function decodeHuffman(bytes: Uint8Array, start: number, end: number): string {
  huffmanTable ??= makeHuffmanTable();
  const decoded: number[] = [];
  let node = huffmanTable;
  let bits = 0;
  let bitCount = 0;
  /** How many bits of the present code have been read. */
  let read = 0;
  for (let at = start; at < end || bitCount >= stepBits; ) {
    if (bitCount < stepBits) {
      bits = ((bits << 8) | (bytes[at] as number)) & 0xffff;
      bitCount += 8;
      at += 1;
    }
    const found = node[(bits >> (bitCount - stepBits)) & 0xff];
    if (found === undefined) {
      throw compressionError("a Huffman code is wrong");
    }
    if (typeof found === "number") {
      bitCount -= (found >> 8) - read;
      decoded.push(found & 0xff);
      node = huffmanTable;
      read = 0;
    } else {
      bitCount -= stepBits;
      node = found;
      read += stepBits;
    }
  }
  decodeRest(bits, bitCount, node, read, decoded);
  return Buffer.from(decoded).toString("latin1");
}

/**
 * Decodes the last bits, which are fewer than `stepBits`. The padding after the last code is at most 7 bits, all ones.
 */
function decodeRest(bits: number, bitCount: number, node: HuffmanTable, read: number, decoded: number[]): void {
  let left = bitCount;
  let rest = node;
  let readOfCode = read;
  for (;;) {
    const filled = ((bits << (stepBits - left)) | ((1 << (stepBits - left)) - 1)) & 0xff;
    const found = rest[filled];
    if (typeof found !== "number" || (found >> 8) - readOfCode > left) {
      break;
    }
    left -= (found >> 8) - readOfCode;
    decoded.push(found & 0xff);
    rest = huffmanTable as HuffmanTable;
    readOfCode = 0;
  }
  const ones = (1 << left) - 1;
  if (readOfCode + left >= stepBits || (bits & ones) !== ones) {
    throw compressionError("a Huffman code is wrong");
  }
}

/**
 * The length of each byte's code, in bits. The code is canonical: codes of one length are successive numbers in the
 * order of their bytes, so that the lengths define it.
 *
 * Source: https://www.rfc-editor.org/rfc/rfc7541#appendix-B
 */
const codeLengths = [
  13, 23, 28, 28, 28, 28, 28, 28, 28, 24, 30, 28, 28, 30, 28, 28, 28, 28, 28, 28, 28, 28, 30, 28, 28, 28, 28, 28, 28,
  28, 28, 28, 6, 10, 10, 12, 13, 6, 8, 11, 10, 10, 8, 11, 8, 6, 6, 6, 5, 5, 5, 6, 6, 6, 6, 6, 6, 6, 7, 8, 15, 6, 12, 10,
  13, 6, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 8, 7, 8, 13, 19, 13, 14, 6, 15, 5, 6, 5, 6,
  5, 6, 6, 6, 5, 7, 7, 6, 6, 6, 5, 6, 7, 6, 5, 5, 6, 7, 7, 7, 7, 7, 15, 11, 14, 13, 28, 20, 22, 20, 20, 22, 22, 22, 23,
  22, 23, 23, 23, 23, 23, 24, 23, 24, 24, 22, 23, 24, 23, 23, 23, 23, 21, 22, 23, 22, 23, 23, 24, 22, 21, 20, 22, 22,
  23, 23, 21, 23, 22, 22, 24, 21, 22, 23, 23, 21, 21, 22, 21, 23, 22, 23, 23, 20, 22, 22, 22, 23, 22, 22, 23, 26, 26,
  20, 19, 22, 23, 22, 25, 26, 26, 26, 27, 27, 26, 24, 25, 19, 21, 26, 27, 27, 26, 27, 24, 21, 21, 26, 26, 28, 27, 27,
  27, 20, 24, 20, 21, 22, 21, 21, 23, 22, 22, 25, 25, 24, 24, 26, 23, 26, 27, 26, 26, 27, 27, 27, 27, 27, 28, 27, 27,
  27, 27, 27, 26,
];

/** The length of the code EOS, in bits. No text contains EOS, but its first bits pad the last byte. */
const endLength = 30;

function makeHuffmanTable(): HuffmanTable {
  const root: HuffmanTable = [];
  let code = 0;
  for (let length = 1; length <= endLength; length++) {
    code *= 2;
    for (const [byte, codeLength] of codeLengths.entries()) {
      if (codeLength === length) {
        addCode(root, code, length, byte);
        code += 1;
      }
    }
  }
  return root;
}

/**
 * Adds a code to the tables. Its last bits may be fewer than `stepBits`: then it has an entry for every value of the
 * bits that are looked up with them.
 */
function addCode(root: HuffmanTable, code: number, length: number, byte: number): void {
  let node = root;
  let left = length;
  for (; left > stepBits; left -= stepBits) {
    const index = (code >>> (left - stepBits)) & 0xff;
    node[index] ??= [];
    node = node[index] as HuffmanTable;
  }
  const first = (code << (stepBits - left)) & 0xff;
  for (let index = first; index < first + (1 << (stepBits - left)); index++) {
    node[index] = (length << 8) | byte;
  }
}

function compressionError(message = "a header block is wrong"): ConnectionError {
  return new ConnectionError(ErrorCode.compressionError, message);
}
