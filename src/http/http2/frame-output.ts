import type { Socket } from "node:net";
import { nextTick } from "node:process";
import type { TLSSocket } from "node:tls";
import { defaultFrameBytes, Flag, FrameType, headBytes } from "./frames.ts";

/** The room for the frames of one write, in bytes. It grows where a frame needs more. */
const roomBytes = 32 * 1024;

/** From this many bytes on, they are written before more are added. */
const fullBytes = roomBytes - defaultFrameBytes / 2;

/** Short texts are copied faster than Node is called. */
const shortText = 24;

/** Memory that no connection is filling. Most connections are idle, and need none. */
const rooms: Buffer[] = [];

/** How much memory is kept for later. */
const maxRooms = 64;

/** Collects the frames of a connection, and writes all those of a turn at once. */
export class FrameOutput {
  readonly #socket: Socket;
  readonly #isEncrypted: boolean;
  #bytes: Buffer = noBytes;
  #length = 0;
  /** Where the frame begins that is being written. */
  #start = 0;
  #isScheduled = false;

  constructor(socket: Socket) {
    this.#socket = socket;
    this.#isEncrypted = (socket as TLSSocket).encrypted === true;
  }

  /** Whether the client reads so slowly that bodies have to wait. */
  get isCongested(): boolean {
    return this.#socket.writableNeedDrain;
  }

  /** How many bytes wait for the system to take them. */
  get unsentBytes(): number {
    return this.#length + this.#socket.writableLength;
  }

  /** Begins a frame. Its length is known when it ends. */
  begin(type: number, flags: number, stream: number): void {
    this.#ensure(headBytes);
    const bytes = this.#bytes;
    this.#start = this.#length;
    const at = this.#start;
    bytes[at + 3] = type;
    bytes[at + 4] = flags;
    bytes[at + 5] = stream >>> 24;
    bytes[at + 6] = stream >>> 16;
    bytes[at + 7] = stream >>> 8;
    bytes[at + 8] = stream;
    this.#length = at + headBytes;
  }

  /** Ends the frame. */
  end(): void {
    this.#writeLength(this.#start, this.#length - this.#start - headBytes);
    if (!this.#isScheduled || this.#length >= fullBytes) {
      this.#schedule();
    }
  }

  /** Ends a frame of headers. A block that is too large for it is cut into CONTINUATION frames. */
  endHeaders(stream: number): void {
    const payload = this.#start + headBytes;
    if (this.#length - payload <= defaultFrameBytes) {
      this.end();
      return;
    }
    const block = Buffer.from(this.#bytes.subarray(payload, this.#length));
    this.#length = payload + defaultFrameBytes;
    const flags = this.#bytes[this.#start + 4] as number;
    this.#bytes[this.#start + 4] = flags & ~Flag.endHeaders;
    this.end();
    for (let at = defaultFrameBytes; at < block.length; at += defaultFrameBytes) {
      const isLast = at + defaultFrameBytes >= block.length;
      this.begin(FrameType.continuation, isLast ? Flag.endHeaders : 0, stream);
      this.writeBytes(block.subarray(at, at + defaultFrameBytes));
      this.end();
    }
  }

  writeByte(value: number): void {
    this.#ensure(1);
    this.#bytes[this.#length++] = value;
  }

  writeUint16(value: number): void {
    this.writeByte(value >>> 8);
    this.writeByte(value & 0xff);
  }

  writeUint32(value: number): void {
    this.writeUint16(value >>> 16);
    this.writeUint16(value & 0xffff);
  }

  writeBytes(bytes: Uint8Array): void {
    this.#ensure(bytes.length);
    this.#bytes.set(bytes, this.#length);
    this.#length += bytes.length;
  }

  /** Writes a text of this many bytes in UTF-8. */
  writeUtf8(text: string, byteLength: number): void {
    this.#ensure(byteLength);
    this.#bytes.write(text, this.#length, byteLength, "utf8");
    this.#length += byteLength;
  }

  /** Writes an integer whose first bits share a byte with `pattern`. Source: RFC 7541, section 5.1 */
  writeInteger(pattern: number, mask: number, value: number): void {
    this.#ensure(6);
    if (value < mask) {
      this.#bytes[this.#length++] = pattern | value;
      return;
    }
    this.#bytes[this.#length++] = pattern | mask;
    let rest = value - mask;
    for (; rest >= 0x80; rest >>>= 7) {
      this.#bytes[this.#length++] = (rest & 0x7f) | 0x80;
    }
    this.#bytes[this.#length++] = rest;
  }

  /** Writes a header's text with its length, as it is. Source: RFC 7541, section 5.2 */
  writeText(text: string): void {
    const { length } = text;
    this.writeInteger(0x00, 0x7f, length);
    this.#ensure(length);
    if (length > shortText) {
      this.#bytes.write(text, this.#length, length, "latin1");
    } else {
      for (let i = 0; i < length; i++) {
        this.#bytes[this.#length + i] = text.charCodeAt(i);
      }
    }
    this.#length += length;
  }

  /**
   * Writes the frames to the socket, unless that waits for the client. Then they wait here, where they take no more
   * memory than their bytes. To be called when the socket has room again.
   */
  flush(): void {
    if (!this.isCongested) {
      this.flushAll();
    }
  }

  /** Writes all frames to the socket. */
  flushAll(): void {
    const length = this.#length;
    const bytes = this.#bytes;
    this.#length = 0;
    this.#bytes = noBytes;
    if (length === 0 || !this.#socket.writable) {
      giveBack(bytes);
    } else if (this.#isEncrypted || this.#socket.writableLength > 0) {
      // Few bytes that the system does not take would keep all of the memory.
      this.#socket.write(Buffer.from(bytes.subarray(0, length)));
      giveBack(bytes);
    } else {
      this.#socket.write(bytes.subarray(0, length));
      // What the system has not taken at once, it still reads there.
      if (this.#socket.writableLength === 0) {
        giveBack(bytes);
      }
    }
  }

  #ensure(bytes: number): void {
    const needed = this.#length + bytes;
    if (needed <= this.#bytes.length) {
      return;
    }
    if (this.#bytes === noBytes && needed <= roomBytes) {
      this.#bytes = rooms.pop() ?? Buffer.allocUnsafeSlow(roomBytes);
      return;
    }
    const grown = Buffer.allocUnsafeSlow(2 * needed);
    this.#bytes.copy(grown, 0, 0, this.#length);
    giveBack(this.#bytes);
    this.#bytes = grown;
  }

  #writeLength(at: number, length: number): void {
    this.#bytes[at] = length >>> 16;
    this.#bytes[at + 1] = length >>> 8;
    this.#bytes[at + 2] = length;
  }

  #schedule(): void {
    if (this.#length >= fullBytes) {
      this.flush();
    } else {
      this.#isScheduled = true;
      nextTick(this.#flushTurn);
    }
  }

  readonly #flushTurn = () => {
    this.#isScheduled = false;
    this.flush();
  };
}

const noBytes: Buffer = Buffer.alloc(0);

function giveBack(bytes: Buffer): void {
  if (bytes.length === roomBytes && rooms.length < maxRooms) {
    rooms.push(bytes);
  }
}
