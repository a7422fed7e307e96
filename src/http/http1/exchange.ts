import { STATUS_CODES } from "node:http";
import { nextTick } from "node:process";
import { TurnBatcher } from "../../scheduling/turn-batcher.ts";
import { drainBody, type IncomingBody, leastDrainMs } from "../body.ts";
import { type Answer, Exchange, type ExchangeOptions, inPieces, isStream } from "../exchange.ts";
import { badValue, token } from "../header-list.ts";
import { pieceBytes } from "../socket-output.ts";
import type { Http1Connection } from "./connection.ts";
import type { Http1Head } from "./request-head.ts";

/** An exchange over HTTP/1.1. A connection sends the answers in the order of the requests. */
export class Http1Exchange extends Exchange {
  readonly httpVersion = "1.1";
  isAbandoned = false;
  readonly head: Http1Head;
  readonly #connection: Http1Connection;
  /** Whether the client still waits for `100 Continue`. */
  #isContinueAwaited: boolean;
  #isContinueDue = false;
  #isAnswerBegun = false;
  #isChunked = false;
  #whenAbandoned: (() => void) | undefined;
  #onTurn: (() => void) | undefined;

  constructor(connection: Http1Connection, head: Http1Head, incoming: IncomingBody, options: ExchangeOptions) {
    super(head, connection, incoming, options);
    this.#connection = connection;
    this.head = head;
    this.#isContinueAwaited = head.isExpectant;
  }

  /** Whether the head of the answer has been given to the connection. */
  get isAnswerBegun(): boolean {
    return this.#isAnswerBegun;
  }

  /** Says that the connection has closed, or that the request is broken. */
  abandon(): void {
    this.isAbandoned = true;
    this.incoming.abandon();
    this.takeTurn();
    this.#whenAbandoned?.();
  }

  protected onAbandoned(listener: () => void): void {
    this.#whenAbandoned = listener;
    if (this.isAbandoned) {
      listener();
    }
  }

  /** Sends `100 Continue`, once the answers before this one are complete. */
  askForBody(): void {
    if (!this.#isContinueAwaited) {
      return;
    }
    this.#isContinueAwaited = false;
    if (this.#connection.isNext(this)) {
      this.#connection.sendContinue();
    } else {
      this.#isContinueDue = true;
    }
  }

  /** Says that the answers before this one are complete. */
  takeTurn(): void {
    if (this.#isContinueDue && !this.isAbandoned) {
      this.#connection.sendContinue();
    }
    this.#onTurn?.();
    this.#onTurn = undefined;
  }

  async respond({ status, header, body, trailer }: Answer): Promise<void> {
    const { promise: turn, resolve } = Promise.withResolvers<void>();
    answers.add(resolve);
    await turn;
    if (!this.#connection.isNext(this) && !this.isAbandoned) {
      await new Promise<void>((resume) => {
        this.#onTurn = resume;
      });
    }
    if (!this.isAbandoned && this.#connection.output.isCongested) {
      // No answer is buffered while the client does not read. Only the exchange whose answer is due waits here.
      await this.#connection.drained();
    }
    if (this.isAbandoned) {
      return;
    }
    // An invalid trailer is refused before the head. The trailer of a stream is complete only when its body has ended.
    const isStreamed = isStream(body);
    const wholeTrailer = isStreamed || trailer === undefined ? undefined : trailerLines(trailer);
    const isWhole = !isStreamed && trailer === undefined;
    const bytes = isWhole ? Buffer.byteLength(body ?? "") : 0;
    const head = this.#beginAnswer(status, this.rawHeader(header), isWhole ? bytes : undefined);
    if (this.method === "HEAD") {
      this.#writeWhole(head, undefined, 0);
    } else if (isWhole && bytes <= pieceBytes) {
      this.#writeWhole(head, body, bytes);
    } else {
      await this.#sendInPieces(head, body, () => wholeTrailer ?? trailerLines(trailer));
    }
    if (!this.incoming.isEnded) {
      // A client that takes this answer for a refusal of its body sends nothing more.
      const mostMs = this.#isBodyUncertain ? leastDrainMs : Math.max(this.leftMs, leastDrainMs);
      drainBody(this.incoming.stream, mostMs, () => this.abort());
    }
  }

  /** A client that waits for `100 Continue`, and gets none, may or may not send its body. Source: RFC 9110, 10.1.1 */
  get #isBodyUncertain(): boolean {
    return this.#isContinueAwaited && this.incoming.bytes === 0 && !this.incoming.isEnded;
  }

  /** Makes the head. Throws if a header is invalid. `bodyBytes` is undefined for a body of unknown length. */
  #beginAnswer(status: number, header: readonly string[], bodyBytes: number | undefined): string {
    const { version } = this.head;
    const hasBody = status !== 204 && status !== 304;
    let lines = `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ""}\r\n${fieldLines(header)}`;
    this.#isAnswerBegun = true;
    if (hasBody && bodyBytes !== undefined) {
      lines += `content-length: ${bodyBytes}\r\n`;
    } else if (hasBody && version === "1.1") {
      this.#isChunked = true;
      lines += "transfer-encoding: chunked\r\n";
    }
    if (this.#isBodyUncertain || this.#connection.isLast(this)) {
      this.#connection.takeNoMore();
      lines += "connection: close\r\n";
    } else {
      lines += "connection: keep-alive\r\nkeep-alive: timeout=65\r\n";
    }
    this.record.status = status;
    return `${lines}\r\n`;
  }

  #writeWhole(head: string, body: string | Uint8Array | undefined, bytes: number): void {
    const { output } = this.#connection;
    output.writeLatin1(head);
    if (typeof body === "string") {
      output.writeUtf8(body, bytes);
    } else if (body !== undefined) {
      output.writeBytes(body);
    }
    output.schedule();
    this.record.responseBytes = bytes;
    this.record.isWhole = true;
    this.#connection.endExchange(this);
  }

  /** Pulls the body no faster than the client reads. */
  async #sendInPieces(head: string, body: Answer["body"], makeTrailer: () => string): Promise<void> {
    // The head is sent before the first piece is ready.
    this.#connection.output.writeLatin1(head);
    this.#connection.output.schedule();
    let bytes = 0;
    try {
      for await (const piece of inPieces(body, () => this.#connection.output.pieceBytes)) {
        if (this.isAbandoned) {
          break;
        }
        bytes += piece.length;
        this.#writePiece(piece);
        await this.#connection.drained();
      }
      if (!this.isAbandoned) {
        this.#writeEnd(makeTrailer());
        this.record.isWhole = true;
      }
    } catch {
      // A part of the answer has been sent, so only a closed connection can report the failure.
      this.abort();
    }
    this.record.responseBytes = bytes;
  }

  #writePiece(piece: Uint8Array): void {
    const { output } = this.#connection;
    if (!this.#isChunked) {
      output.writeBytes(piece);
    } else if (piece.length > 0) {
      output.writeLatin1(`${piece.length.toString(16)}\r\n`);
      output.writeBytes(piece);
      output.writeLatin1("\r\n");
    }
    output.schedule();
  }

  #writeEnd(trailer: string): void {
    if (this.#isChunked) {
      this.#connection.output.writeLatin1(`0\r\n${trailer}\r\n`);
    }
    this.#connection.output.schedule();
    this.#connection.endExchange(this);
  }

  abort(): void {
    this.#connection.abort();
  }
}

/** Batches the answers that are ready at the same time, and writes them before the next turn of the event loop. */
const answers = new TurnBatcher<() => void>(nextTick, (begin) => begin());

/** The header names that have been found valid. Answers use few names. */
const validNames = new Set<string>();
const maxValidNames = 1_000;

/** Formats names and values, in turn, as field lines. Throws if a name or a value is invalid. */
function fieldLines(raw: readonly string[]): string {
  let lines = "";
  for (let i = 0; i < raw.length; i += 2) {
    const name = raw[i] as string;
    const value = raw[i + 1] as string;
    if (!(validNames.has(name) || isValidName(name)) || badValue.test(value)) {
      throw new TypeError(`The header ${JSON.stringify(name)} or its value cannot be written.`);
    }
    lines += `${name}: ${value}\r\n`;
  }
  return lines;
}

/** Formats a trailer. Throws if a name or a value is invalid. */
function trailerLines(trailer: Headers | undefined): string {
  return trailer === undefined ? "" : fieldLines([...trailer].flat());
}

/** Whether a name is valid. Remembers it if it is. */
function isValidName(name: string): boolean {
  const isValid = token.test(name);
  if (isValid && validNames.size < maxValidNames) {
    validNames.add(name);
  }
  return isValid;
}
