import type { IncomingMessage } from "node:http";
import type { Readable } from "node:stream";
import type { CallRecord } from "./call-record.ts";
import { readBuffered } from "./node-faults/read-buffered.ts";
import { ProtocolError } from "./protocol-error.ts";

/** What bounds the reading of a request body. */
export interface BodyLimits {
  /** Without the framing. */
  readonly maxBytes: number;
  /** What the framing of a message takes beside it, in bytes. */
  readonly framingBytes: number;
  /** From the first read on, in milliseconds. */
  readonly timeoutMs: number;
  readonly deadline: AbortSignal | undefined;
  /** Is told how many bytes came, and whether the deadline passed before the last one. */
  readonly record: Pick<CallRecord, "isBodyLate" | "requestBytes">;
}

/**
 * Reads a request body to its end.
 *
 * Throws a `ProtocolError`, `body_too_large` or `request_timeout` or `canceled`, or the reason of `deadline`. What
 * comes after that is thrown away; a body in too many small pieces is destroyed.
 */
export async function readBody(body: Readable, limits: BodyLimits): Promise<Uint8Array> {
  // Most bodies have come with the head, and need not be listened to. Over HTTP/1.1 they tell that they are complete;
  // over HTTP/2 they end at once when all is read, or have ended before, when there was nothing to read.
  if (destroyIfOverFragmented(body)) {
    throw bodyOverFragmented();
  }
  const first = readBuffered(body);
  const hasCome = isComplete(body) && !body.destroyed;
  if (!hasCome) {
    await Promise.resolve();
  }
  if (hasCome || body.readableEnded) {
    return whole(first, limits);
  }
  return await new Promise((resolve, reject) => {
    new BodyReader(limits, resolve, reject).read(first, body);
  });
}

/** Whether all of a body has come, read or not; false over HTTP/2, which does not tell. */
function isComplete(body: Readable): boolean {
  return (body as Partial<IncomingMessage>).complete === true;
}

function whole(bytes: Buffer, { maxBytes, framingBytes, record }: BodyLimits): Buffer {
  record.requestBytes = bytes.length;
  if (bytes.length > maxBytes + framingBytes) {
    throw bodyTooLarge(maxBytes);
  }
  return bytes;
}

/**
 * Reads one body. It listens to the end, and throws away what comes once it has failed: `drainBody` bounds that, from
 * the answer on.
 */
class BodyReader {
  readonly #limits: BodyLimits;
  readonly #resolve: (bytes: Uint8Array) => void;
  readonly #reject: (reason: unknown) => void;
  readonly #chunks: Buffer[] = [];
  #size = 0;
  #isSettled = false;
  #timer: NodeJS.Timeout | undefined;

  constructor(limits: BodyLimits, resolve: (bytes: Uint8Array) => void, reject: (reason: unknown) => void) {
    this.#limits = limits;
    this.#resolve = resolve;
    this.#reject = reject;
  }

  /** `first` is what of the body has been read. */
  read(first: Buffer, body: Readable): void {
    const { deadline, timeoutMs } = this.#limits;
    // A chunk without bytes would have the others copied at the end.
    if (first.length > 0) {
      this.#take(first, body);
    }
    if (deadline?.aborted === true) {
      this.#failLate(deadline);
    }
    if (body.destroyed && !body.readableEnded) {
      this.#fail(abandoned);
    }
    if (this.#isSettled) {
      return;
    }
    body.on("data", (chunk: Buffer) => this.#take(chunk, body));
    body.on("end", () => this.#end());
    body.on("close", () => this.#fail(abandoned));
    deadline?.addEventListener("abort", () => this.#failLate(deadline), { once: true });
    this.#timer = setTimeout(() => this.#fail(requestTimeout), timeoutMs);
  }

  #take(chunk: Buffer, body: Readable): void {
    this.#size += chunk.length;
    this.#limits.record.requestBytes = this.#size;
    if (this.#size > this.#limits.maxBytes + this.#limits.framingBytes) {
      this.#fail(() => bodyTooLarge(this.#limits.maxBytes));
    } else if (!this.#isSettled) {
      this.#chunks.push(chunk);
      if (isOverFragmented(this.#chunks.length, this.#size)) {
        body.destroy();
        this.#fail(bodyOverFragmented);
      }
    }
  }

  #end(): void {
    if (this.#settle()) {
      this.#resolve(this.#chunks.length === 1 ? (this.#chunks[0] as Buffer) : Buffer.concat(this.#chunks, this.#size));
    }
  }

  #failLate(deadline: AbortSignal): void {
    this.#fail(() => {
      this.#limits.record.isBodyLate = true;
      return deadline.reason;
    });
  }

  /** The reason is made only where it is the first: each body that has ended is closed, too. */
  #fail(makeReason: () => unknown): void {
    if (this.#settle()) {
      this.#reject(makeReason());
    }
  }

  /** Whether it had not been settled before. */
  #settle(): boolean {
    const isFirst = !this.#isSettled;
    this.#isSettled = true;
    clearTimeout(this.#timer);
    return isFirst;
  }
}

function abandoned(): ProtocolError {
  return new ProtocolError("canceled", "The request was abandoned.");
}

/**
 * How much of a body, in bytes, is taken from a client that has its answer: twice the largest that any call takes, so
 * that who has sent a little too much can go on using the connection.
 */
const discardMaxBytes = 8 * 1024 * 1024;

/** For how long, in milliseconds, it is taken. */
const discardMs = 1_000;

/**
 * Takes what is left of a body that nobody reads and throws it away, so that the client can finish and read its
 * answer. `giveUp` is called when there is too much of it, or it is shredded.
 */
export function drainBody(body: Readable, giveUp: () => void): void {
  let size = 0;
  let pieces = 0;
  const timer = setTimeout(() => {
    // Whoever still listens to the body may keep its end from being told.
    if (!isComplete(body)) {
      giveUp();
    }
  }, discardMs);
  const take = (chunk: Buffer) => {
    size += chunk.length;
    pieces += 1;
    if (size > discardMaxBytes || isOverFragmented(pieces, size)) {
      body.off("data", take).pause();
      giveUp();
    }
  };
  body.once("end", () => clearTimeout(timer)).once("close", () => clearTimeout(timer));
  body.on("data", take).resume();
}

/** So many pieces any body may have. */
const freePieces = 1024;

/** One piece more for so many bytes: fewer than the smallest packets of the Internet hold. */
const pieceBytes = 512;

/**
 * Whether a body has come in so many small pieces that somebody means harm: one of a byte takes some 400 to keep, and
 * as long as a packet.
 */
function isOverFragmented(pieces: number, bytes: number): boolean {
  return pieces > freePieces + bytes / pieceBytes;
}

/**
 * Destroys a body that has come in too many small pieces, and with it the connection, or the stream over HTTP/2: until
 * an answer could be written, several times as much would come. Tells whether it was one.
 */
export function destroyIfOverFragmented(body: Readable): boolean {
  const isOne = isOverFragmented(piecesWaiting(body), body.readableLength);
  if (isOne) {
    body.destroy();
  }
  return isOne;
}

/** In how many pieces the bytes have come that nobody has read yet. Node's types do not know of the property. */
function piecesWaiting(body: Readable): number {
  return (body as { readonly readableBuffer?: ArrayLike<unknown> }).readableBuffer?.length ?? 0;
}

function bodyOverFragmented(): ProtocolError {
  return new ProtocolError("malformed", "The request body came in too many small pieces. Send larger ones.");
}

/** The body has more bytes than the service takes. */
export function bodyTooLarge(maxBytes: number): ProtocolError {
  return new ProtocolError("body_too_large", `The request body is larger than ${maxBytes} bytes. Send a smaller one.`);
}

function requestTimeout(): ProtocolError {
  return new ProtocolError("request_timeout", "The request body did not arrive in time. Send the request again.");
}
