import { isUtf8 } from "node:buffer";
import { RecordError } from "./record-error.ts";

const newline = 0x0a;
const byteOrderMark = "\ufeff";

/**
 * Decodes UTF-8 as it arrives, without the byte order mark. Throws `RecordError`, with the line, at the first byte that
 * is not UTF-8, and for UTF-16. A replacement with U+FFFD would import something else than the file says.
 */
export async function* decodeUtf8(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<string, void, undefined> {
  let line = 1;
  let length = 0;
  let rest: Uint8Array = Buffer.alloc(0);
  for await (const chunk of chunks) {
    const bytes = rest.length === 0 ? Buffer.from(chunk) : Buffer.concat([rest, chunk]);
    const end = lastBoundary(bytes);
    const text = decode(bytes.subarray(0, end), line);
    rest = bytes.subarray(end);
    // In UTF-16 one of the first two bytes is a NUL, as a file begins with ASCII.
    if (text.slice(0, Math.max(2 - length, 0)).includes("\0")) {
      throw notUtf8(line);
    }
    line += countNewlines(text);
    if (text === "") {
      continue;
    }
    yield length === 0 && text.startsWith(byteOrderMark) ? text.slice(1) : text;
    length += text.length;
  }
  if (rest.length > 0) {
    throw notUtf8(line);
  }
}

/** The number of newlines in a text. */
export function countNewlines(text: string): number {
  let count = 0;
  for (let at = text.indexOf("\n"); at !== -1; at = text.indexOf("\n", at + 1)) {
    count += 1;
  }
  return count;
}

function decode(bytes: Buffer, firstLine: number): string {
  if (isUtf8(bytes)) {
    return bytes.toString("utf8");
  }
  throw notUtf8(firstLine + countGoodLines(bytes));
}

/** The number of lines before the one that is not UTF-8. No other character of UTF-8 contains the byte of a newline. */
function countGoodLines(bytes: Buffer): number {
  let count = 0;
  let start = 0;
  for (;;) {
    const end = bytes.indexOf(newline, start);
    if (end === -1 || !isUtf8(bytes.subarray(start, end))) {
      return count;
    }
    count += 1;
    start = end + 1;
  }
}

/** The start of the last character if it is incomplete; otherwise the end of the bytes. */
function lastBoundary(bytes: Buffer): number {
  for (let back = 1; back <= Math.min(3, bytes.length); back += 1) {
    const byte = bytes[bytes.length - back] ?? 0;
    if ((byte & 0xc0) === 0x80) {
      continue;
    }
    return sequenceLength(byte) > back ? bytes.length - back : bytes.length;
  }
  return bytes.length;
}

function sequenceLength(lead: number): number {
  if (lead >= 0xf0) {
    return 4;
  }
  if (lead >= 0xe0) {
    return 3;
  }
  return lead >= 0xc0 ? 2 : 1;
}

function notUtf8(line: number): RecordError {
  return new RecordError(line, "the text is not UTF-8");
}
