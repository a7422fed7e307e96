import { ByteCollector, withoutRest } from "../body.ts";

/** The first bytes that every client sends. Source: https://www.rfc-editor.org/rfc/rfc9113#section-3.4 */
export const preface = Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");

/** The types of frames. Source: RFC 9113, section 6 */
export const FrameType = {
  data: 0,
  headers: 1,
  priority: 2,
  reset: 3,
  settings: 4,
  pushPromise: 5,
  ping: 6,
  goAway: 7,
  windowUpdate: 8,
  continuation: 9,
} as const;

/** The flags of frames. `ack` is that of SETTINGS and PING. */
export const Flag = { endStream: 0x1, ack: 0x1, endHeaders: 0x4, padded: 0x8, priority: 0x20 } as const;

/** The settings that the server sends or obeys. Source: RFC 9113, section 6.5.2 */
export const Setting = {
  headerTableSize: 1,
  enablePush: 2,
  maxConcurrentStreams: 3,
  initialWindowSize: 4,
  maxFrameSize: 5,
  maxHeaderListSize: 6,
} as const;

/** Why a stream is reset, or a connection ended. Source: RFC 9113, section 7 */
export const ErrorCode = {
  noError: 0,
  protocolError: 1,
  internalError: 2,
  flowControlError: 3,
  streamClosed: 5,
  frameSizeError: 6,
  refusedStream: 7,
  cancel: 8,
  compressionError: 9,
  enhanceYourCalm: 11,
} as const;

export type ErrorCode = (typeof ErrorCode)[keyof typeof ErrorCode];

/** The length of a frame's head, in bytes. */
export const headBytes = 9;

/**
 * The default of SETTINGS_MAX_FRAME_SIZE, in bytes. Neither side sends a larger payload.
 * Source: RFC 9113, section 6.5.2
 */
export const defaultFrameBytes = 16_384;

/** The initial window of a connection or a stream, in bytes. Source: RFC 9113, section 6.9.2 */
export const defaultWindow = 65_535;

/** The largest window, in bytes. Source: RFC 9113, section 6.9.1 */
export const maxWindow = 0x7fff_ffff;

/** An error that ends the connection. The message says what the client did; GOAWAY carries it. */
export class ConnectionError extends Error {
  readonly code: ErrorCode;

  constructor(code: ErrorCode, message: string) {
    super(message);
    this.code = code;
  }
}

/** The largest header block, in bytes, and the most CONTINUATION frames that it may have. */
const maxBlockBytes = 64 * 1024;
const maxContinuations = 8;

/** Receives the frames of a connection. */
interface FrameListener {
  /** Receives a complete header block. `isLast` says that the request ends with it. */
  onHeaders(stream: number, isLast: boolean, block: Buffer): void;
  /** Receives every other frame. `payload` excludes the padding; `frameBytes` includes it. */
  onFrame(type: number, flags: number, stream: number, payload: Buffer, frameBytes: number): void;
}

/** A header block that continues in CONTINUATION frames. */
interface OpenBlock {
  readonly stream: number;
  readonly isLast: boolean;
  readonly bytes: ByteCollector;
  continuations: number;
}

/** Splits what a client sends into frames, and joins the fragments of header blocks. */
export class FrameParser {
  readonly #listener: FrameListener;
  /** The received part of an incomplete frame. */
  #rest: Buffer | undefined;
  #hasPreface = false;
  #hasSettings = false;
  #isStopped = false;
  #block: OpenBlock | undefined;
  #headCount = 0;

  constructor(listener: FrameListener) {
    this.#listener = listener;
  }

  /** Parses received bytes. Throws a `ConnectionError` if they are not a valid sequence of frames. */
  parse(bytes: Buffer): void {
    if (this.#isStopped) {
      return;
    }
    const all = this.#rest === undefined ? bytes : Buffer.concat([this.#rest, bytes]);
    let at = this.#hasPreface ? 0 : this.#readPreface(all);
    while (this.#hasPreface && !this.#isStopped && all.length - at >= headBytes) {
      const length = ((all[at] as number) << 16) | ((all[at + 1] as number) << 8) | (all[at + 2] as number);
      if (length > defaultFrameBytes) {
        throw new ConnectionError(ErrorCode.frameSizeError, "a frame is too large");
      }
      const end = at + headBytes + length;
      if (end > all.length) {
        break;
      }
      const stream = all.readUInt32BE(at + 5) & maxWindow;
      this.#takeFrame(all[at + 3] as number, all[at + 4] as number, stream, all.subarray(at + headBytes, end));
      at = end;
    }
    this.#rest = at < all.length ? withoutRest(all.subarray(at)) : undefined;
  }

  /** Whether a head has begun to arrive, and is not complete. */
  get isWithinHead(): boolean {
    return this.#block !== undefined || this.#rest?.[3] === FrameType.headers;
  }

  /** How many heads have arrived. */
  get headCount(): number {
    return this.#headCount;
  }

  /** Ignores all further frames, even those in bytes that have been received. */
  stop(): void {
    this.#isStopped = true;
  }

  /** Checks the preface. Returns its length, or 0 while it is incomplete. */
  #readPreface(bytes: Buffer): number {
    const length = Math.min(bytes.length, preface.length);
    if (bytes.compare(preface, 0, length, 0, length) !== 0) {
      throw new ConnectionError(ErrorCode.protocolError, "the preface is wrong");
    }
    this.#hasPreface = length === preface.length;
    return this.#hasPreface ? length : 0;
  }

  #takeFrame(type: number, flags: number, stream: number, payload: Buffer): void {
    const isContinued = this.#block !== undefined;
    this.#hasSettings ||= type === FrameType.settings && (flags & Flag.ack) === 0;
    if (!this.#hasSettings) {
      throw new ConnectionError(ErrorCode.protocolError, "expected SETTINGS first");
    }
    if (isContinued !== (type === FrameType.continuation)) {
      const why = isContinued ? "expected CONTINUATION after HEADERS" : "CONTINUATION without HEADERS to continue";
      throw new ConnectionError(ErrorCode.protocolError, why);
    }
    if (type === FrameType.headers) {
      this.#takeHeaders(flags, stream, unpad(flags, payload));
    } else if (type === FrameType.continuation) {
      this.#takeContinuation(flags, stream, payload);
    } else {
      const content = type === FrameType.data ? unpad(flags, payload) : payload;
      this.#listener.onFrame(type, flags, stream, content, payload.length);
    }
  }

  #takeHeaders(flags: number, stream: number, payload: Buffer): void {
    if (stream % 2 === 0) {
      throw new ConnectionError(ErrorCode.protocolError, "a client's stream identifier must be odd");
    }
    const fragment = (flags & Flag.priority) === 0 ? payload : withoutPriority(stream, payload);
    const isLast = (flags & Flag.endStream) !== 0;
    if ((flags & Flag.endHeaders) === 0) {
      this.#block = { stream, isLast, bytes: new ByteCollector(), continuations: 0 };
      this.#block.bytes.add(fragment);
    } else {
      this.#headCount += 1;
      this.#listener.onHeaders(stream, isLast, fragment);
    }
  }

  #takeContinuation(flags: number, stream: number, payload: Buffer): void {
    const block = this.#block as OpenBlock;
    if (block.stream !== stream) {
      throw new ConnectionError(ErrorCode.protocolError, "the headers of another stream go on");
    }
    block.bytes.add(payload);
    block.continuations += 1;
    if (block.bytes.length > maxBlockBytes || block.continuations > maxContinuations) {
      throw new ConnectionError(ErrorCode.enhanceYourCalm, "the headers are too large");
    }
    if ((flags & Flag.endHeaders) !== 0) {
      this.#block = undefined;
      this.#headCount += 1;
      this.#listener.onHeaders(stream, block.isLast, block.bytes.take());
    }
  }
}

/** Removes the padding of a frame. Source: RFC 9113, section 6.1 */
function unpad(flags: number, payload: Buffer): Buffer {
  if ((flags & Flag.padded) === 0) {
    return payload;
  }
  const [padding] = payload;
  if (padding === undefined) {
    throw new ConnectionError(ErrorCode.frameSizeError, "PADDED frame without a pad length");
  }
  if (padding >= payload.length) {
    throw new ConnectionError(ErrorCode.protocolError, "a padding is too long");
  }
  return payload.subarray(1, payload.length - padding);
}

/**
 * Removes the priority from HEADERS. It is deprecated, so only its syntax is checked.
 * Source: RFC 9113, section 5.3.2
 */
function withoutPriority(stream: number, payload: Buffer): Buffer {
  assertPriority(stream, payload.subarray(0, 5));
  return payload.subarray(5);
}

/** Throws if a priority is of stream 0, if it is not 5 bytes long, or if the stream depends on itself. */
export function assertPriority(stream: number, priority: Buffer): void {
  if (stream === 0) {
    throw new ConnectionError(ErrorCode.protocolError, "PRIORITY must be on a stream other than 0");
  }
  if (priority.length !== 5) {
    throw new ConnectionError(ErrorCode.frameSizeError, "a priority has another length");
  }
  if ((priority.readUInt32BE(0) & maxWindow) === stream) {
    throw new ConnectionError(ErrorCode.protocolError, "a stream depends on itself");
  }
}
