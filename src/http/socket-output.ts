import type { Socket } from "node:net";
import { nextTick } from "node:process";
import type { TLSSocket } from "node:tls";

/** The size of a buffer, in bytes. A larger piece gets a larger buffer. */
const bufferBytes = 32 * 1024;

/** How many bytes a buffer may hold before `schedule` flushes it at once. */
const flushBytes = 24 * 1024;

/** The size of a piece of a long body, in bytes, for a client of unknown speed. A shorter body is written as a whole. */
export const pieceBytes = 256 * 1024;

/** The largest piece, in bytes, for a client that reads fast. */
const maxPieceBytes = 1024 * 1024;

/** The longest text, in characters, that a loop copies faster than a call of `Buffer.write`. */
const shortLength = 24;

/** Free buffers. All connections share them, because most connections are idle and need none. */
const freeBuffers: Buffer[] = [];

/** How many free buffers are kept. */
const maxFreeBuffers = 64;

/** Buffers what is written to a connection, so that the socket gets everything of one turn in one write. */
export class SocketOutput {
  readonly #socket: Socket;
  readonly #isEncrypted: boolean;
  protected bytes: Buffer = noBytes;
  protected length = 0;
  #isScheduled = false;
  /** Whether bodies must wait for the socket's `drain`, because the client reads slowly. Only this class sets it. */
  isCongested = false;
  #pieceBytes = pieceBytes;

  /** On `drain` it flushes first, so that listeners that are added later find the buffer written. */
  constructor(socket: Socket) {
    this.#socket = socket;
    this.#isEncrypted = (socket as TLSSocket).encrypted === true;
    socket.on("drain", () => {
      this.isCongested = false;
      this.flush();
    });
  }

  /** How many bytes the operating system has not taken yet. */
  get unsentBytes(): number {
    return this.length + this.#socket.writableLength;
  }

  /**
   * How many bytes of a long body to write next. The number doubles when the system takes a whole piece at once, because
   * larger pieces cost less. It halves when the client has fallen behind.
   */
  get pieceBytes(): number {
    return this.#pieceBytes;
  }

  /** Writes bytes. They must not change afterwards, because a piece larger than a buffer is not copied. */
  writeBytes(bytes: Uint8Array): void {
    if (bytes.length > bufferBytes) {
      this.flushAll();
      if (this.#socket.writable) {
        this.isCongested = !this.#socket.write(bytes);
        this.#fitPieces(bytes.length);
      }
      return;
    }
    this.ensure(bytes.length);
    this.bytes.set(bytes, this.length);
    this.length += bytes.length;
  }

  /** Sets the size of the next piece, after one of `writtenBytes` has been written. */
  #fitPieces(writtenBytes: number): void {
    if (this.#socket.writableLength > 0) {
      this.#pieceBytes = Math.max(this.#pieceBytes / 2, pieceBytes);
    } else if (writtenBytes >= this.#pieceBytes) {
      this.#pieceBytes = Math.min(2 * this.#pieceBytes, maxPieceBytes);
    }
  }

  /** Writes a text in UTF-8, in which it has `byteLength` bytes. */
  writeUtf8(text: string, byteLength: number): void {
    this.ensure(byteLength);
    this.bytes.write(text, this.length, byteLength, "utf8");
    this.length += byteLength;
  }

  /** Writes a text in Latin-1, one byte for each character. */
  writeLatin1(text: string): void {
    const { length } = text;
    this.ensure(length);
    if (length > shortLength) {
      this.bytes.write(text, this.length, length, "latin1");
    } else {
      for (let i = 0; i < length; i++) {
        this.bytes[this.length + i] = text.charCodeAt(i);
      }
    }
    this.length += length;
  }

  /** Flushes the buffer at the next tick, or at once if it is nearly full. */
  schedule(): void {
    if (this.length >= flushBytes) {
      this.flush();
    } else if (!this.#isScheduled) {
      this.#isScheduled = true;
      if (scheduled.push(this) === 1) {
        nextTick(flushScheduled);
      }
    }
  }

  /**
   * Gives the buffer to the socket, unless the socket waits for the client. Then the bytes stay here until `drain`, and
   * take at most twice their size.
   */
  flush(): void {
    this.#isScheduled = false;
    const { length, bytes } = this;
    if (!this.isCongested) {
      this.flushAll();
    } else if (bytes.length === bufferBytes) {
      this.bytes = Buffer.from(bytes.subarray(0, length));
      recycle(bytes);
    }
  }

  /** Gives the buffer to the socket, even if the socket waits for the client. */
  flushAll(): void {
    const { length, bytes } = this;
    const socket = this.#socket;
    this.length = 0;
    this.bytes = noBytes;
    if (length > 0 && socket.writable) {
      // The socket keeps what the system does not take at once. Without a copy, a few bytes would keep the whole
      // buffer.
      const isCopied = this.#isEncrypted || socket.writableLength > 0;
      const taken = bytes.subarray(0, length);
      this.isCongested = !socket.write(isCopied ? Buffer.from(taken) : taken);
      if (!isCopied && socket.writableLength > 0) {
        return;
      }
    }
    recycle(bytes);
  }

  /** Makes room for `bytes` more bytes. */
  protected ensure(bytes: number): void {
    const needed = this.length + bytes;
    if (needed <= this.bytes.length) {
      return;
    }
    if (this.bytes === noBytes && needed <= bufferBytes) {
      this.bytes = freeBuffers.pop() ?? Buffer.allocUnsafeSlow(bufferBytes);
      return;
    }
    const grown = Buffer.allocUnsafeSlow(2 * needed);
    this.bytes.copy(grown, 0, 0, this.length);
    recycle(this.bytes);
    this.bytes = grown;
  }
}

/** The outputs that the next tick flushes. One `nextTick` for all of them costs less than one for each. */
let scheduled: SocketOutput[] = [];

function flushScheduled(): void {
  const outputs = scheduled;
  scheduled = [];
  for (const output of outputs) {
    output.flush();
  }
}

const noBytes: Buffer = Buffer.alloc(0);

function recycle(bytes: Buffer): void {
  if (bytes.length === bufferBytes && freeBuffers.length < maxFreeBuffers) {
    freeBuffers.push(bytes);
  }
}
