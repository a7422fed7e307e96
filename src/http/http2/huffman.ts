import { ConnectionError, ErrorCode } from "./frames.ts";

/** The Huffman code of HPACK. Source: https://www.rfc-editor.org/rfc/rfc7541#appendix-B */

/**
 * The length of each byte's code, in bits. The code is canonical: codes of one length are successive numbers in the
 * order of their bytes, so that the lengths define it.
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

/** How many bits are looked up at a time. */
const stepBits = 8;

/**
 * A lookup table for the next `stepBits` bits. An entry is the decoded byte with the length of its code, as
 * `length << 8 | byte`. For a code that is longer, it is the table for the bits that follow. A missing entry is no
 * code.
 */
type Table = (number | Table | undefined)[];

let table: Table | undefined;

/** Decodes a text. Throws a `ConnectionError` if a code or the padding is invalid. */
export function decodeHuffman(bytes: Uint8Array, start: number, end: number): string {
  table ??= makeTable();
  const decoded: number[] = [];
  let node = table;
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
      throw wrongCode();
    }
    if (typeof found === "number") {
      bitCount -= (found >> 8) - read;
      decoded.push(found & 0xff);
      node = table;
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
function decodeRest(bits: number, bitCount: number, node: Table, read: number, decoded: number[]): void {
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
    rest = table as Table;
    readOfCode = 0;
  }
  const ones = (1 << left) - 1;
  if (readOfCode + left >= stepBits || (bits & ones) !== ones) {
    throw wrongCode();
  }
}

function makeTable(): Table {
  const root: Table = [];
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
function addCode(root: Table, code: number, length: number, byte: number): void {
  let node = root;
  let left = length;
  for (; left > stepBits; left -= stepBits) {
    const index = (code >>> (left - stepBits)) & 0xff;
    node[index] ??= [];
    node = node[index] as Table;
  }
  const first = (code << (stepBits - left)) & 0xff;
  for (let index = first; index < first + (1 << (stepBits - left)); index++) {
    node[index] = (length << 8) | byte;
  }
}

function wrongCode(): ConnectionError {
  return new ConnectionError(ErrorCode.compressionError, "a Huffman code is wrong");
}
