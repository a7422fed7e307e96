import { nextTick } from "node:process";
import type { Readable } from "node:stream";
import { TurnBatcher } from "../scheduling/turn-batcher.ts";
import { drainBody } from "./body.ts";
import { type Answer, Exchange, type ExchangeOptions } from "./exchange.ts";
import type { Http1Call } from "./http1/call.ts";
import { byteLength, inPieces, isLarge, isStream } from "./send-body.ts";

/** An exchange over HTTP/1.1. */
export class Http1Exchange extends Exchange {
  readonly httpVersion = "1.1";
  readonly #call: Http1Call;

  constructor(call: Http1Call, options: ExchangeOptions) {
    const { head, connection } = call;
    super(
      {
        method: head.method,
        target: head.target,
        rawHeaders: head.raw,
        authority: undefined,
        isEncrypted: connection.isEncrypted,
        peerAddress: connection.peerAddress,
        sendContinue: head.isExpectant ? () => call.sendContinue() : undefined,
      },
      options,
    );
    this.#call = call;
  }

  get body(): Readable {
    return this.#call.body.stream;
  }

  protected takeWholeBody(): Buffer | undefined {
    return this.#call.body.takeWhole();
  }

  protected onAbandoned(listener: () => void): void {
    const call = this.#call;
    const settle = () => {
      if (!call.isAnswerEnded) {
        listener();
      }
    };
    if (call.isAbandoned) {
      settle();
    } else {
      call.onClose(settle);
    }
  }

  get isAbandoned(): boolean {
    return this.#call.isAbandoned;
  }

  async respond({ status, header, body, trailer }: Answer): Promise<void> {
    const call = this.#call;
    await new Promise<void>((resume) => answers.add(resume));
    await call.turn();
    if (call.isAbandoned) {
      return;
    }
    this.record.status = status;
    const raw = this.rawHeader(header);
    const isHead = this.method === "HEAD";
    if (isStream(body) || trailer !== undefined) {
      call.respond(status, raw, undefined);
      await this.#sendInPieces(isHead ? undefined : body, isHead ? undefined : trailer);
    } else {
      const length = byteLength(body);
      call.respond(status, raw, length);
      if (!isHead && isLarge(body)) {
        await this.#sendInPieces(body, undefined);
      } else {
        if (!isHead && body !== undefined) {
          call.writeWhole(body, length);
        }
        call.end();
        this.noteSent(isHead ? 0 : length);
      }
    }
    if (!call.body.isEnded) {
      drainBody(call.body.stream, () => this.abort());
    }
  }

  async #sendInPieces(body: Answer["body"], trailer: Headers | undefined): Promise<void> {
    const call = this.#call;
    let bytes = 0;
    try {
      for await (const piece of inPieces(body)) {
        if (call.isAbandoned) {
          break;
        }
        bytes += piece.length;
        call.write(piece);
        await call.connection.drained();
      }
      call.end([...(trailer ?? [])].flat());
    } catch {
      this.abort();
    }
    this.noteStreamed(bytes, call.isAnswerEnded);
  }

  abort(): void {
    this.#call.connection.destroy();
  }
}

/** Writes the answers that are ready in one row, before the next turn of the event loop. */
const answers = new TurnBatcher<() => void>(nextTick, (resume) => resume());
