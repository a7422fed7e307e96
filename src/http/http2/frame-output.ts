import { SocketOutput } from "../socket-output.ts";
import { defaultFrameBytes, Flag, FrameType, headBytes } from "./frames.ts";

/** Writes frames. */
export class FrameOutput extends SocketOutput {
  /** Where the present frame begins. */
  #start = 0;

  /** Begins a frame. `end` fills in its length. */
  begin(type: number, flags: number, stream: number): void {
    this.ensure(headBytes);
    this.#start = this.length;
    const at = this.#start;
    this.bytes[at + 3] = type;
    this.bytes[at + 4] = flags;
    this.bytes[at + 5] = stream >>> 24;
    this.bytes[at + 6] = stream >>> 16;
    this.bytes[at + 7] = stream >>> 8;
    this.bytes[at + 8] = stream;
    this.length = at + headBytes;
  }

  /** Ends the frame. */
  end(): void {
    const at = this.#start;
    const length = this.length - at - headBytes;
    this.bytes[at] = length >>> 16;
    this.bytes[at + 1] = length >>> 8;
    this.bytes[at + 2] = length;
    this.schedule();
  }

  /** Ends a HEADERS frame. A block that is too large for one frame continues in CONTINUATION frames. */
  endHeaders(stream: number): void {
    const payload = this.#start + headBytes;
    if (this.length - payload <= defaultFrameBytes) {
      this.end();
      return;
    }
    const block = Buffer.from(this.bytes.subarray(payload, this.length));
    this.length = payload + defaultFrameBytes;
    const flags = this.bytes[this.#start + 4] as number;
    this.bytes[this.#start + 4] = flags & ~Flag.endHeaders;
    this.end();
    for (let at = defaultFrameBytes; at < block.length; at += defaultFrameBytes) {
      const isLast = at + defaultFrameBytes >= block.length;
      this.begin(FrameType.continuation, isLast ? Flag.endHeaders : 0, stream);
      this.writeBytes(block.subarray(at, at + defaultFrameBytes));
      this.end();
    }
  }

  writeUint16(value: number): void {
    this.ensure(2);
    this.length = this.bytes.writeUInt16BE(value, this.length);
  }

  writeUint32(value: number): void {
    this.ensure(4);
    this.length = this.bytes.writeUInt32BE(value, this.length);
  }

  /** Writes an integer whose prefix shares a byte with `pattern`. Source: RFC 7541, section 5.1 */
  writeInteger(pattern: number, mask: number, value: number): void {
    this.ensure(6);
    if (value < mask) {
      this.bytes[this.length++] = pattern | value;
      return;
    }
    this.bytes[this.length++] = pattern | mask;
    let rest = value - mask;
    for (; rest >= 0x80; rest >>>= 7) {
      this.bytes[this.length++] = (rest & 0x7f) | 0x80;
    }
    this.bytes[this.length++] = rest;
  }

  /** Writes a string literal: its length, and the text without Huffman coding. Source: RFC 7541, section 5.2 */
  writeText(text: string): void {
    this.writeInteger(0x00, 0x7f, text.length);
    this.writeLatin1(text);
  }
}
