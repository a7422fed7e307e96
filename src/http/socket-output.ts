import type { Socket } from "node:net";
import { nextTick } from "node:process";
import type { TLSSocket } from "node:tls";

/** The room for what is written at once, in bytes. It grows where one piece needs more. */
const roomBytes = 32 * 1024;

/** From this many bytes on, they are written before more are added. */
const fullBytes = 24 * 1024;

/** The size of a piece of a long body for a client of unknown speed, in bytes. Shorter bodies are not cut. */
export const pieceBytes = 256 * 1024;

/** The size of a piece for a client that reads fast, in bytes. */
const mostPieceBytes = 1024 * 1024;

/** Short texts are copied faster than Node is called. */
const shortText = 24;

/** Memory that no connection is filling. Most connections are idle, and need none. */
const rooms: Buffer[] = [];

/** How much memory is kept for later. */
const maxRooms = 64;

/** Collects what is written to a connection, and gives the socket all that of a turn at once. */
export class SocketOutput {
  readonly #socket: Socket;
  readonly #isEncrypted: boolean;
  protected bytes: Buffer = noBytes;
  protected length = 0;
  #isScheduled = false;
  /** Whether the client reads so slowly that bodies have to wait. Only this class sets it. */
  isCongested = false;
  #pieceBytes = pieceBytes;

  /** Other listeners to the socket's `drain` find all of it written that the socket has room for. */
  constructor(socket: Socket) {
    this.#socket = socket;
    this.#isEncrypted = (socket as TLSSocket).encrypted === true;
    socket.on("drain", () => {
      this.isCongested = false;
      this.flush();
    });
  }

  /** How many bytes wait for the system to take them. */
  get unsentBytes(): number {
    return this.length + this.#socket.writableLength;
  }

  /**
   * How many bytes of a long body to write next. They grow while the system takes whole pieces at once, as it does for a
   * client that reads fast: larger pieces cost less. A client that has fallen behind gets small ones.
   */
  get pieceBytes(): number {
    return this.#pieceBytes;
  }

  /** Writes bytes, which must not change any more: many of them are not copied. */
  writeBytes(bytes: Uint8Array): void {
    if (bytes.length > roomBytes) {
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

  /** Fits the next piece to what has become of the last. */
  #fitPieces(writtenBytes: number): void {
    if (this.#socket.writableLength > 0) {
      this.#pieceBytes = Math.max(this.#pieceBytes / 2, pieceBytes);
    } else if (writtenBytes >= this.#pieceBytes) {
      this.#pieceBytes = Math.min(2 * this.#pieceBytes, mostPieceBytes);
    }
  }

  /** Writes a whole message, a head in Latin-1 and a body of this many bytes, and has it sent as `schedule` says. */
  writeMessage(head: string, body: string | Uint8Array | undefined, byteLength: number): void {
    this.writeLatin1(head);
    if (typeof body === "string") {
      this.writeUtf8(body, byteLength);
    } else if (body !== undefined) {
      this.writeBytes(body);
    }
    this.schedule();
  }

  /** Writes a text of this many bytes in UTF-8. */
  writeUtf8(text: string, byteLength: number): void {
    this.ensure(byteLength);
    this.bytes.write(text, this.length, byteLength, "utf8");
    this.length += byteLength;
  }

  /** Writes a text a byte for each character. */
  writeLatin1(text: string): void {
    const { length } = text;
    this.ensure(length);
    if (length > shortText) {
      this.bytes.write(text, this.length, length, "latin1");
    } else {
      for (let i = 0; i < length; i++) {
        this.bytes[this.length + i] = text.charCodeAt(i);
      }
    }
    this.length += length;
  }

  /** Has all of it written at the end of the turn, or at once if there is much. */
  schedule(): void {
    if (this.length >= fullBytes) {
      this.flush();
    } else if (!this.#isScheduled) {
      this.#isScheduled = true;
      if (scheduled.push(this) === 1) {
        nextTick(flushScheduled);
      }
    }
  }

  /**
   * Gives all of it to the socket, unless that waits for the client. Then it waits here, where it takes no more memory
   * than its bytes, until the socket has room.
   */
  flush(): void {
    this.#isScheduled = false;
    if (!this.isCongested) {
      this.flushAll();
    }
  }

  /** Gives all of it to the socket. */
  flushAll(): void {
    const { length, bytes } = this;
    const socket = this.#socket;
    this.length = 0;
    this.bytes = noBytes;
    if (length > 0 && socket.writable) {
      // What the system does not take at once stays with the socket: a few bytes would keep all of the memory.
      const isCopied = this.#isEncrypted || socket.writableLength > 0;
      const taken = bytes.subarray(0, length);
      this.isCongested = !socket.write(isCopied ? Buffer.from(taken) : taken);
      if (!isCopied && socket.writableLength > 0) {
        return;
      }
    }
    giveBack(bytes);
  }

  /** Makes room for more. */
  protected ensure(bytes: number): void {
    const needed = this.length + bytes;
    if (needed <= this.bytes.length) {
      return;
    }
    if (this.bytes === noBytes && needed <= roomBytes) {
      this.bytes = rooms.pop() ?? Buffer.allocUnsafeSlow(roomBytes);
      return;
    }
    const grown = Buffer.allocUnsafeSlow(2 * needed);
    this.bytes.copy(grown, 0, 0, this.length);
    giveBack(this.bytes);
    this.bytes = grown;
  }
}

/** What is written at the end of this turn. One call of Node for all of them costs less than one for each. */
let scheduled: SocketOutput[] = [];

function flushScheduled(): void {
  const outputs = scheduled;
  scheduled = [];
  for (const output of outputs) {
    output.flush();
  }
}

const noBytes: Buffer = Buffer.alloc(0);

function giveBack(bytes: Buffer): void {
  if (bytes.length === roomBytes && rooms.length < maxRooms) {
    rooms.push(bytes);
  }
}
