import { Readable } from "node:stream";
import type { CallRecord } from "./exchange.ts";
import { ProtocolError } from "./protocol-error.ts";

const noBytes: Buffer = Buffer.alloc(0);

/** The smallest buffer of a collector, in bytes. */
const minBufferBytes = 1_024;

/**
 * Copies the pieces of a body into one buffer. A piece that is not copied keeps the whole buffer that it was read into:
 * up to 64 KiB for a single byte.
 */
export class ByteCollector {
  #bytes = noBytes;
  #length = 0;

  get length(): number {
    return this.#length;
  }

  add(piece: Uint8Array): void {
    const needed = this.#length + piece.length;
    if (needed > this.#bytes.length) {
      const larger: Buffer = Buffer.allocUnsafeSlow(Math.max(minBufferBytes, needed + Math.ceil(needed / 2)));
      this.#bytes.copy(larger, 0, 0, this.#length);
      this.#bytes = larger;
    }
    this.#bytes.set(piece, this.#length);
    this.#length = needed;
  }

  /** Returns the collected bytes, and begins again with none. */
  take(): Buffer {
    const taken = this.#bytes.subarray(0, this.#length);
    this.#bytes = noBytes;
    this.#length = 0;
    return taken;
  }
}

/** How many times its own size a piece may keep in memory. */
const maxRetainedFactor = 4;

/**
 * Returns a piece that the caller can keep. It is a copy if the piece is a small part of its buffer, because a piece
 * keeps all of its buffer in memory.
 */
export function withoutRest(piece: Buffer): Buffer {
  if (maxRetainedFactor * piece.length >= piece.buffer.byteLength) {
    return piece;
  }
  const copy = Buffer.allocUnsafeSlow(piece.length);
  piece.copy(copy);
  return copy;
}

/** Where a body comes from. */
interface BodySource {
  /** The reader has taken `bytes` of a body that has not ended: the client may send as many more. */
  credit(bytes: number): void;
  /** The reader wants no more of a body that has not ended. */
  abort(): void;
}

/**
 * The body of a request while it arrives. Most bodies are complete before they are read, and need no stream. Only this
 * class sets its fields.
 */
export class IncomingBody {
  readonly #source: BodySource;
  /** The whole body, if it arrived in one piece. */
  #whole: Buffer | undefined;
  /** The pieces that have arrived, and have not been read. */
  #unread: ByteCollector | undefined;
  #pieces = 0;
  #stream: BodyStream | undefined;
  /** How many bytes have arrived. */
  bytes: number;
  /** Whether the whole body has arrived. */
  isEnded: boolean;
  /** Whether the rest of the body will never arrive. */
  isAbandoned = false;

  /** `whole` is the body, if all of it has arrived. */
  constructor(source: BodySource, whole?: Buffer) {
    this.#source = source;
    this.#whole = whole;
    this.bytes = whole?.length ?? 0;
    this.isEnded = whole !== undefined;
  }

  /** Adds a piece. `isLast` says that nothing follows. Returns false if more follows after too many small pieces. */
  push(piece: Buffer, isLast: boolean): boolean {
    this.#pieces += 1;
    this.bytes += piece.length;
    if (this.#stream !== undefined) {
      this.#stream.feed(withoutRest(piece));
    } else if (isLast && this.#unread === undefined) {
      this.#whole = piece;
    } else {
      this.#unread ??= new ByteCollector();
      this.#unread.add(piece);
    }
    if (isLast) {
      this.end();
    }
    return isLast || !isOverFragmented(this.#pieces, this.bytes);
  }

  /** Says that the body is complete. A second call does nothing. */
  end(): void {
    if (!this.isEnded) {
      this.isEnded = true;
      this.#stream?.push(null);
    }
  }

  /** Says that the rest of the body will never arrive. */
  abandon(): void {
    if (!this.isEnded) {
      this.isAbandoned = true;
      this.#unread = undefined;
      this.#stream?.destroy();
    }
  }

  /** Takes the whole body, if it has arrived and nobody has begun to read it. */
  takeWhole(): Buffer | undefined {
    return this.isEnded && this.#stream === undefined ? this.#takeUnread() : undefined;
  }

  /** The body as a stream, to be read while it arrives. */
  get stream(): Readable {
    if (this.#stream === undefined) {
      this.#stream = new BodyStream(this, this.#source);
      const unread = this.#takeUnread();
      if (unread.length > 0) {
        this.#stream.feed(unread);
      }
      if (this.isEnded) {
        this.#stream.push(null);
      } else if (this.isAbandoned) {
        this.#stream.destroy();
      }
    }
    return this.#stream;
  }

  #takeUnread(): Buffer {
    const unread = this.#whole ?? this.#unread?.take() ?? noBytes;
    this.#whole = undefined;
    return unread;
  }
}

class BodyStream extends Readable {
  readonly #body: IncomingBody;
  readonly #source: BodySource;
  /** How many bytes have arrived that the source has no credit for yet. */
  #uncredited = 0;

  constructor(body: IncomingBody, source: BodySource) {
    super();
    this.#body = body;
    this.#source = source;
  }

  feed(piece: Buffer): void {
    this.#uncredited += piece.length;
    if (this.push(piece)) {
      this.#credit();
    }
  }

  override _read(): void {
    this.#credit();
  }

  /** A body that has ended gets no credit: the source may already receive the next body. */
  #credit(): void {
    const bytes = this.#uncredited;
    this.#uncredited = 0;
    if (bytes > 0 && !this.#body.isEnded) {
      this.#source.credit(bytes);
    }
  }

  override _destroy(error: Error | null, callback: (error?: Error | null) => void): void {
    if (!this.#body.isEnded && !this.#body.isAbandoned) {
      this.#source.abort();
    }
    callback(error);
  }
}

/** How many pieces any body may have. */
const freePieces = 1024;

/** How many bytes allow a body one more piece: fewer than the smallest packets of the Internet hold. */
const bytesPerPiece = 512;

/** Whether a body comes in so many small pieces that it must be an attack. A piece costs as much time as a packet. */
function isOverFragmented(pieces: number, bytes: number): boolean {
  return pieces > freePieces + bytes / bytesPerPiece;
}

/** The bounds of reading a request body. */
interface BodyLimits {
  /** The largest body, without the framing. */
  readonly maxBytes: number;
  /** How many bytes the framing of a message may add. */
  readonly framingBytes: number;
  /** How long the body may take to arrive, from the first read on, in milliseconds. */
  readonly timeoutMs: number;
  /** Aborts when the deadline of the call passes. */
  readonly deadline: AbortSignal | undefined;
  /** Receives the number of bytes that arrived, and whether the deadline passed before the last one. */
  readonly record: Pick<CallRecord, "isBodyLate" | "requestBytes">;
}

/**
 * Reads a request body to its end.
 *
 * Rejects with a `ProtocolError` (`body_too_large`, `request_timeout`, `canceled`), or the reason of `deadline`. After
 * that, it ignores further bytes.
 */
export function readBody(body: Readable, limits: BodyLimits): Promise<Uint8Array> {
  return new Promise((resolve, reject) => {
    new BodyReader(limits, resolve, reject).read(body);
  });
}

/** Reads one body. After a failure it ignores further bytes. Once there is an answer, `drainBody` limits them. */
class BodyReader {
  readonly #limits: BodyLimits;
  readonly #resolve: (bytes: Uint8Array) => void;
  readonly #reject: (reason: unknown) => void;
  readonly #bytes = new ByteCollector();
  #size = 0;
  #isSettled = false;
  #timer: NodeJS.Timeout | undefined;

  constructor(limits: BodyLimits, resolve: (bytes: Uint8Array) => void, reject: (reason: unknown) => void) {
    this.#limits = limits;
    this.#resolve = resolve;
    this.#reject = reject;
  }

  read(body: Readable): void {
    const { deadline, timeoutMs } = this.#limits;
    if (deadline?.aborted === true) {
      this.#failLate(deadline);
    }
    if (body.destroyed && !body.readableEnded) {
      this.#fail(abandoned);
    }
    if (this.#isSettled) {
      return;
    }
    body.on("data", (chunk: Buffer) => this.#take(chunk));
    body.on("end", () => this.#end());
    body.on("close", () => this.#fail(abandoned));
    deadline?.addEventListener("abort", () => this.#failLate(deadline), { once: true });
    this.#timer = setTimeout(() => this.#fail(bodyTimeout), timeoutMs);
  }

  #take(chunk: Buffer): void {
    this.#size += chunk.length;
    this.#limits.record.requestBytes = this.#size;
    if (this.#size > this.#limits.maxBytes + this.#limits.framingBytes) {
      this.#fail(() => bodyTooLarge(this.#limits.maxBytes));
    } else if (!this.#isSettled) {
      this.#bytes.add(chunk);
    }
  }

  #end(): void {
    if (this.#settle()) {
      this.#resolve(this.#bytes.take());
    }
  }

  #failLate(deadline: AbortSignal): void {
    this.#fail(() => {
      this.#limits.record.isBodyLate = true;
      return deadline.reason;
    });
  }

  /** Rejects, unless the promise is settled. Only a rejection makes the reason, because `close` follows every `end`. */
  #fail(makeReason: () => unknown): void {
    if (this.#settle()) {
      this.#reject(makeReason());
    }
  }

  /** Returns whether this is the first call. */
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

/** The error for a body with more bytes than the service takes. */
export function bodyTooLarge(maxBytes: number): ProtocolError {
  return new ProtocolError("body_too_large", `The request body is larger than ${maxBytes} bytes. Send a smaller one.`);
}

function bodyTimeout(): ProtocolError {
  return new ProtocolError("request_timeout", "The request body did not arrive in time. Send the request again.");
}

/**
 * How much of a body is drained, in bytes: twice the largest body of any call. A client that sends a little too much
 * can then still use the connection.
 */
const drainMaxBytes = 8 * 1024 * 1024;

/** How long a client may be silent while its body is drained, in milliseconds. */
const drainSilenceMs = 5_000;

/** The shortest time for which a body is drained, in milliseconds. */
export const leastDrainMs = 1_000;

/**
 * Reads the rest of a body that nobody needs, so that the client can finish and read its answer. Calls `giveUp` when
 * there is too much of the body, when the client is silent, and after `mostMs`.
 */
export function drainBody(body: Readable, mostMs: number, giveUp: () => void): void {
  if (body.destroyed) {
    return;
  }
  let size = 0;
  const silence = setTimeout(giveUp, drainSilenceMs).unref();
  const end = setTimeout(giveUp, mostMs).unref();
  const stop = () => {
    clearTimeout(silence);
    clearTimeout(end);
  };
  const take = (chunk: Buffer) => {
    silence.refresh();
    size += chunk.length;
    if (size > drainMaxBytes) {
      body.off("data", take).pause();
      giveUp();
    }
  };
  body.once("end", stop).once("close", stop);
  body.on("data", take).resume();
}
