import { drainBody, leastDrainMs } from "../body.ts";
import { type Answer, Exchange, type ExchangeOptions, inPieces, isStream } from "../exchange.ts";
import { pieceBytes } from "../socket-output.ts";
import { ErrorCode } from "./frames.ts";
import type { Http2Stream } from "./stream.ts";

/** An exchange over HTTP/2: one stream. */
export class Http2Exchange extends Exchange {
  readonly httpVersion = "2";
  readonly #stream: Http2Stream;

  constructor(stream: Http2Stream, options: ExchangeOptions) {
    super(stream.head, stream.connection, stream.incoming, options);
    this.#stream = stream;
  }

  /** Sends `100 Continue` to a client that waits for it before it sends its body. Source: RFC 9110, section 10.1.1 */
  askForBody(): void {
    const { bytes, isEnded } = this.incoming;
    if (bytes === 0 && !isEnded && this.header("expect")?.toLowerCase() === "100-continue") {
      this.#stream.sendContinue();
    }
  }

  protected onAbandoned(listener: () => void): void {
    const stream = this.#stream;
    const notify = () => {
      if (!stream.isAnswerEnded) {
        listener();
      }
    };
    if (stream.isClosed) {
      notify();
    } else {
      stream.onClose(notify);
    }
  }

  get isAbandoned(): boolean {
    return this.#stream.isClosed;
  }

  async respond({ status, header, body, trailer }: Answer): Promise<void> {
    const stream = this.#stream;
    if (stream.isClosed) {
      return;
    }
    this.record.status = status;
    const raw = this.rawHeader(header);
    const isStreamed = isStream(body);
    const bytes = isStreamed ? 0 : Buffer.byteLength(body ?? "");
    if (body !== undefined && !isStreamed && trailer === undefined) {
      raw.push("content-length", String(bytes));
    }
    // An invalid trailer is refused before the head. The trailer of a stream is complete only when its body has ended.
    const wholeTrailer = isStreamed ? undefined : fieldsOf(trailer);
    stream.connection.assertValid(wholeTrailer ?? []);
    if (body === undefined || this.method === "HEAD") {
      this.#respondWithoutBody(status, raw, wholeTrailer);
    } else {
      stream.respond(status, raw, false);
      if (isStreamed || bytes > pieceBytes) {
        await this.#sendInPieces(body, () => wholeTrailer ?? fieldsOf(trailer));
      } else {
        stream.endWith(body, bytes, wholeTrailer);
        this.#noteSent(bytes, stream.isAnswerEnded);
      }
    }
    // The request is drained first, because some clients make no room for the answer until they have sent all of it.
    this.#drainRequest();
    if (!stream.isAnswerEnded) {
      await stream.drained();
      this.record.isWhole = stream.isAnswerEnded;
    }
  }

  #respondWithoutBody(status: number, raw: readonly string[], trailer: readonly string[] | undefined): void {
    const stream = this.#stream;
    stream.respond(status, raw, trailer === undefined);
    if (trailer !== undefined) {
      stream.end(trailer);
    }
    this.#noteSent(0, true);
    // After an answer without a body, a client may forget the stream and never end its request: grpc-go does so.
    if (!stream.incoming.isEnded && this.record.requestBytes <= resetMaxBytes) {
      stream.resetAfterAnswer();
    }
  }

  async #sendInPieces(body: Answer["body"], makeTrailer: () => readonly string[] | undefined): Promise<void> {
    const stream = this.#stream;
    let bytes = 0;
    try {
      for await (const piece of inPieces(body, () => pieceBytes)) {
        if (stream.isClosed) {
          break;
        }
        bytes += piece.length;
        stream.write(piece);
        await stream.drained();
      }
      stream.end(makeTrailer());
    } catch {
      stream.reset(ErrorCode.internalError);
    }
    this.#noteSent(bytes, stream.isAnswerEnded);
  }

  #noteSent(bytes: number, isWhole: boolean): void {
    this.record.responseBytes = bytes;
    this.record.isWhole = isWhole;
  }

  /**
   * Receives the rest of the request, and ignores it: some clients read no answer before they have sent all of it. The
   * stream of a streaming RPC is reset instead.
   */
  #drainRequest(): void {
    const stream = this.#stream;
    if (stream.incoming.isEnded || stream.isClosed) {
      return;
    }
    if (this.record.isStream) {
      stream.resetAfterAnswer();
    } else {
      drainBody(stream.incoming.stream, leastDrainMs, () => stream.resetAfterAnswer());
    }
  }

  abort(): void {
    this.#stream.reset(ErrorCode.internalError);
  }
}

/**
 * The largest part of a request, in bytes, after which an answer without a body may be followed by a reset. A client
 * that has sent more is still sending, and Node's client then loses an answer that arrives with a reset.
 * Source: RFC 9113, section 6.9.2
 */
const resetMaxBytes = 65_535;

/** The names and values of a trailer in turn; undefined if there are none. */
function fieldsOf(trailer: Headers | undefined): readonly string[] | undefined {
  const fields = [...(trailer ?? [])].flat();
  return fields.length > 0 ? fields : undefined;
}
