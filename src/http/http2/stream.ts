import { IncomingBody } from "../body.ts";
import type { Http2Connection } from "./connection.ts";
import { defaultWindow, ErrorCode, Flag, maxWindow } from "./frames.ts";
import type { RequestHead } from "./request-head.ts";

/** A request over HTTP/2, and its answer. */
export class Http2Stream {
  readonly id: number;
  readonly connection: Http2Connection;
  readonly head: RequestHead;
  #isClosed = false;
  #onClose: (() => void)[] | undefined;

  /** The request's body. */
  readonly incoming: IncomingBody;
  /** How many bytes the client may still send, and how many have been read that it has not been told of. */
  #receiveWindow = defaultWindow;
  #uncredited = 0;

  /** What the windows have not allowed to be sent yet. */
  #queue: Uint8Array[] = [];
  #offset = 0;
  #sendWindow: number;
  #trailer: readonly string[] | undefined;
  #isAnswerBegun = false;
  #isEnding = false;
  #isAnswerEnded = false;
  #isResetAfterAnswer = false;
  #hasMoved = true;
  #onDrained: (() => void) | undefined;

  /** `isLast` says that the request has no body. `sendWindow` is how many bytes the client takes of the answer. */
  constructor(connection: Http2Connection, id: number, head: RequestHead, isLast: boolean, sendWindow: number) {
    this.connection = connection;
    this.id = id;
    this.head = head;
    this.incoming = new IncomingBody(this, isLast ? noBytes : undefined);
    this.#sendWindow = sendWindow;
  }

  /** Whether nothing more is sent or received. */
  get isClosed(): boolean {
    return this.#isClosed;
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

  /** Takes a DATA frame of so many bytes, its padding included. Returns what the client has done wrong. */
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

  /** Ends the request. Returns what the client has done wrong. */
  endRequest(): ErrorCode | undefined {
    if (!this.#isComplete(0)) {
      return ErrorCode.protocolError;
    }
    this.incoming.end();
    this.#closeIfEnded();
    return undefined;
  }

  /** Whether the body is as long as its head says, with so many bytes more. */
  #isComplete(more: number): boolean {
    const bytes = this.incoming.bytes + more;
    return bytes === (this.head.contentLength ?? bytes);
  }

  /** Lets the client send so many bytes more. It is told when they are half a window. */
  credit(bytes: number): void {
    this.#uncredited += bytes;
    if (this.#uncredited >= defaultWindow / 2 && !this.incoming.isEnded && !this.#isClosed) {
      this.#receiveWindow += this.#uncredited;
      this.connection.writeWindowUpdate(this.id, this.#uncredited);
      this.#uncredited = 0;
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
    this.connection.writeHeaders(this.id, isLast ? Flag.endStream : 0, status, raw);
    this.#isAnswerBegun = true;
    if (isLast) {
      this.#endAnswer();
    }
  }

  /** Writes a part of the body, as far as the client lets it; the rest is sent later. */
  write(bytes: Uint8Array): void {
    if (!this.#isClosed && bytes.length > 0) {
      this.#queue.push(bytes);
      this.#sendQueued();
    }
  }

  /** Ends the answer, with a trailer or without one. Throws if a field of it is invalid: later nobody could be told. */
  end(trailer?: readonly string[]): void {
    if (!this.#isClosed) {
      this.connection.assertValid(trailer ?? []);
      this.#trailer = trailer;
      this.#isEnding = true;
      this.#sendQueued();
    }
  }

  /** Writes all of the body, and ends the answer. Throws if a field of the trailer is invalid. */
  endWith(body: string | Uint8Array, byteLength: number, trailer?: readonly string[]): void {
    const { connection } = this;
    if (this.#isClosed) {
      return;
    }
    if (byteLength === 0 || byteLength > this.#sendWindow || !connection.canSendAtOnce(byteLength)) {
      this.write(typeof body === "string" ? Buffer.from(body) : body);
      this.end(trailer);
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

  /** Sends one frame of what waits. Returns whether more could be sent if the connection had room. */
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
    this.#hasMoved = true;
    const isLast = this.#queue.length === 0 && this.#isEnding && this.#trailer === undefined;
    connection.writeData(this.id, isLast ? Flag.endStream : 0, piece, bytes);
    this.#endIfSent(isLast);
    return this.isWaiting;
  }

  /** Whether something waits to be sent that the stream's own window allows. */
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

  /** Ends the answer when all of its body has been sent. */
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

  /** The client lets more be sent. Returns whether the window is within its bounds. */
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

  /** Ends the request of a reader that wants no more of it. */
  abort(): void {
    this.reset(ErrorCode.enhanceYourCalm);
  }

  /** Resets the stream. */
  reset(code: ErrorCode): void {
    if (!this.#isClosed) {
      this.connection.writeReset(this.id, code);
      this.close(true);
    }
  }

  /** Resets a stream whose client need not send the rest of its request, once the answer has been sent. */
  resetAfterAnswer(): void {
    if (this.#isAnswerEnded) {
      this.reset(ErrorCode.noError);
    } else {
      this.#isResetAfterAnswer = true;
    }
  }

  /** Resets the stream if nothing of its answer could be sent since this was last called. */
  resetIfStalled(): void {
    if (!this.#hasMoved && this.#queue.length > 0) {
      this.reset(ErrorCode.cancel);
    }
    this.#hasMoved = this.#queue.length === 0;
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
