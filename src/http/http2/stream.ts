import { IncomingBody } from "../body.ts";
import type { Http2Connection } from "./connection.ts";
import { defaultWindow, ErrorCode, Flag, maxWindow } from "./frames.ts";
import type { Http2Head } from "./request-head.ts";

/** A request over HTTP/2, and its answer. */
export class Http2Stream {
  readonly id: number;
  readonly connection: Http2Connection;
  readonly head: Http2Head;
  /** By `performance.now()`, as exact as a turn of the event loop. */
  readonly openedAtMs: number;
  #isClosed = false;
  #onClose: (() => void)[] | undefined;

  /** The request's body. */
  readonly incoming: IncomingBody;
  /** How many bytes the client may still send, and how many read bytes no WINDOW_UPDATE has returned to it yet. */
  #receiveWindow = defaultWindow;
  #uncredited = 0;

  /** The parts of the body that wait to be sent. `#offset` is how much of the first one has been sent. */
  #queue: Uint8Array[] = [];
  #offset = 0;
  #sendWindow: number;
  #trailer: readonly string[] | undefined;
  #isAnswerBegun = false;
  #isEnding = false;
  #isAnswerEnded = false;
  #isResetAfterAnswer = false;
  #hasProgressed = true;
  #onDrained: (() => void) | undefined;

  /**
   * `isLast` says that the request has no body. `sendWindow` is how many bytes of the answer the client accepts at
   * first.
   */
  constructor(connection: Http2Connection, id: number, head: Http2Head, isLast: boolean, sendWindow: number) {
    this.connection = connection;
    this.id = id;
    this.head = head;
    this.openedAtMs = connection.turnStartedAtMs;
    this.incoming = new IncomingBody(this, isLast ? noBytes : undefined);
    this.#sendWindow = sendWindow;
  }

  /** Whether nothing more is sent or received. */
  get isClosed(): boolean {
    return this.#isClosed;
  }

  /** Whether the head of the answer has been given to the connection. */
  get isAnswerBegun(): boolean {
    return this.#isAnswerBegun;
  }

  /** Whether all of the answer has been given to the connection. */
  get isAnswerEnded(): boolean {
    return this.#isAnswerEnded;
  }

  /** Calls `listener` when the stream closes. */
  onClose(listener: () => void): void {
    this.#onClose ??= [];
    this.#onClose.push(listener);
  }

  /**
   * Takes a DATA frame. `frameBytes` is the length of its payload with padding. Returns an error code if the client
   * broke a rule.
   */
  receive(piece: Buffer, frameBytes: number, isLast: boolean): ErrorCode | undefined {
    const { incoming } = this;
    if (incoming.isEnded) {
      return ErrorCode.streamClosed;
    }
    this.#receiveWindow -= frameBytes;
    if (this.#receiveWindow < 0) {
      return ErrorCode.flowControlError;
    }
    if (incoming.bytes + piece.length > (this.head.contentLength ?? Number.POSITIVE_INFINITY)) {
      return ErrorCode.protocolError;
    }
    if (frameBytes > piece.length) {
      this.credit(frameBytes - piece.length);
    }
    if (isLast && !this.#isComplete(piece.length)) {
      return ErrorCode.protocolError;
    }
    if (piece.length > 0 && !incoming.push(piece, isLast)) {
      return ErrorCode.enhanceYourCalm;
    }
    return isLast ? this.endRequest() : undefined;
  }

  /** Ends the request. Returns an error code if the body is shorter than its Content-Length. */
  endRequest(): ErrorCode | undefined {
    if (!this.#isComplete(0)) {
      return ErrorCode.protocolError;
    }
    this.incoming.end();
    this.#closeIfEnded();
    return undefined;
  }

  /** Whether the body has the length that its head promises once `more` bytes are added. */
  #isComplete(more: number): boolean {
    const bytes = this.incoming.bytes + more;
    return bytes === (this.head.contentLength ?? bytes);
  }

  /** Lets the client send `bytes` more. A WINDOW_UPDATE tells it so once they add up to half a window. */
  credit(bytes: number): void {
    this.#uncredited += bytes;
    if (this.#uncredited >= defaultWindow / 2 && !this.incoming.isEnded && !this.#isClosed) {
      this.#receiveWindow += this.#uncredited;
      this.connection.writeWindowUpdate(this.id, this.#uncredited);
      this.#uncredited = 0;
    }
  }

  /** Tells a client that waits for it to send its body. Does nothing once the answer has begun. */
  sendContinue(): void {
    if (!this.#isClosed && !this.#isAnswerBegun) {
      this.connection.writeHeaders(this.id, 0, 100, []);
    }
  }

  /**
   * Writes the head of the answer. Throws, before anything is written, if a header is invalid, or if there is an answer
   * already. `isLast` says that neither a body nor a trailer follows.
   */
  respond(status: number, raw: readonly string[], isLast: boolean): void {
    if (this.#isAnswerBegun) {
      throw new Error("The stream has an answer already.");
    }
    this.connection.assertValid(raw);
    this.connection.writeHeaders(this.id, isLast ? Flag.endStream : 0, status, raw);
    this.#isAnswerBegun = true;
    if (isLast) {
      this.#endAnswer();
    }
  }

  /** Writes a part of the body. It sends as much as flow control allows now, and the rest later. */
  write(bytes: Uint8Array): void {
    if (!this.#isClosed && bytes.length > 0) {
      this.#queue.push(bytes);
      this.#sendQueued();
    }
  }

  /**
   * Ends the answer, with a trailer or without one. Throws at once if a field of the trailer is invalid: when the
   * trailer is sent later, no caller is left to catch the error.
   */
  end(trailer?: readonly string[]): void {
    if (!this.#isClosed) {
      this.connection.assertValid(trailer ?? []);
      this.#endQueue(trailer);
    }
  }

  #endQueue(trailer: readonly string[] | undefined): void {
    this.#trailer = trailer;
    this.#isEnding = true;
    this.#sendQueued();
  }

  /** Writes all of the body, and ends the answer. The caller has checked that the trailer is valid. */
  endWith(body: string | Uint8Array, byteLength: number, trailer?: readonly string[]): void {
    const { connection } = this;
    if (this.#isClosed) {
      return;
    }
    if (byteLength === 0 || byteLength > this.#sendWindow || !connection.canSendAtOnce(byteLength)) {
      this.write(typeof body === "string" ? Buffer.from(body) : body);
      this.#endQueue(trailer);
      return;
    }
    this.#sendWindow -= byteLength;
    connection.writeData(this.id, trailer === undefined ? Flag.endStream : 0, body, byteLength);
    this.#writeEnd(trailer);
  }

  /** Resolves when all that was written has been given to the connection, or the stream has closed. */
  drained(): Promise<void> {
    return new Promise((resolve) => {
      if (this.#isClosed || this.#queue.length === 0) {
        resolve();
      } else {
        this.#onDrained = resolve;
      }
    });
  }

  /** Sends one DATA frame of what waits. Returns whether more waits that the stream's own window allows. */
  sendNext(): boolean {
    const [first] = this.#queue;
    if (first === undefined) {
      return false;
    }
    const { connection } = this;
    const bytes = Math.min(first.length - this.#offset, this.#sendWindow, connection.sendableBytes);
    if (bytes <= 0) {
      return this.isWaiting;
    }
    const piece = first.subarray(this.#offset, this.#offset + bytes);
    this.#offset += bytes;
    if (this.#offset === first.length) {
      this.#queue.shift();
      this.#offset = 0;
    }
    this.#sendWindow -= bytes;
    this.#hasProgressed = true;
    const isLast = this.#queue.length === 0 && this.#isEnding && this.#trailer === undefined;
    connection.writeData(this.id, isLast ? Flag.endStream : 0, piece, bytes);
    this.#endIfSent(isLast);
    return this.isWaiting;
  }

  /** Whether bytes wait to be sent that the stream's own window allows. */
  get isWaiting(): boolean {
    return !this.#isClosed && this.#queue.length > 0 && this.#sendWindow > 0;
  }

  #sendQueued(): void {
    if (this.#queue.length === 0) {
      this.#endIfSent(false);
      return;
    }
    while (this.connection.canSendAtOnce(1) && this.sendNext()) {}
    if (this.isWaiting) {
      this.connection.wait(this);
    }
  }

  /** Ends the answer when all of its body has been sent. `isEndSent` says that the last frame carried END_STREAM. */
  #endIfSent(isEndSent: boolean): void {
    if (this.#queue.length > 0) {
      return;
    }
    this.#onDrained?.();
    this.#onDrained = undefined;
    if (isEndSent) {
      this.#endAnswer();
    } else if (this.#isEnding && !this.#isAnswerEnded) {
      if (this.#trailer === undefined) {
        this.connection.writeData(this.id, Flag.endStream, noBytes, 0);
      }
      this.#writeEnd(this.#trailer);
    }
  }

  #writeEnd(trailer: readonly string[] | undefined): void {
    if (trailer !== undefined) {
      this.connection.writeHeaders(this.id, Flag.endStream, undefined, trailer);
    }
    this.#endAnswer();
  }

  #endAnswer(): void {
    this.#isAnswerEnded = true;
    if (this.#isResetAfterAnswer) {
      this.reset(ErrorCode.noError);
    }
    this.#closeIfEnded();
  }

  /** Changes the send window by `bytes`, which may be negative. Returns false if the window exceeds its maximum. */
  widen(bytes: number): boolean {
    this.#sendWindow += bytes;
    if (this.#sendWindow > maxWindow) {
      return false;
    }
    if (this.isWaiting) {
      this.#sendQueued();
    }
    return true;
  }

  /** Resets the stream because the reader wants no more of the request's body. */
  abort(): void {
    this.reset(ErrorCode.enhanceYourCalm);
  }

  /** Resets the stream, unless it has closed. */
  reset(code: ErrorCode): void {
    if (!this.#isClosed) {
      this.connection.writeReset(this.id, code);
      this.close(true);
    }
  }

  /** Resets the stream once the answer has been sent: the client need not send the rest of its request. */
  resetAfterAnswer(): void {
    if (this.#isAnswerEnded) {
      this.reset(ErrorCode.noError);
    } else {
      this.#isResetAfterAnswer = true;
    }
  }

  /** Resets the stream if a part of its answer waits to be sent, and nothing has been sent since the last call. */
  resetIfStalled(): void {
    if (!this.#hasProgressed && this.#queue.length > 0) {
      this.reset(ErrorCode.cancel);
    }
    this.#hasProgressed = this.#queue.length === 0;
  }

  #closeIfEnded(): void {
    if (this.incoming.isEnded && this.#isAnswerEnded) {
      this.close(false);
    }
  }

  /** Ends the stream without telling the client. */
  close(isResetByUs: boolean): void {
    if (this.#isClosed) {
      return;
    }
    this.#isClosed = true;
    this.#queue = [];
    this.connection.forget(this, isResetByUs);
    this.#onDrained?.();
    this.incoming.abandon();
    for (const listener of this.#onClose ?? []) {
      listener();
    }
  }
}

const noBytes: Buffer = Buffer.alloc(0);
