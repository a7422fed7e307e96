import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { nextTick } from "node:process";
import type { TLSSocket } from "node:tls";
import { TurnBatcher } from "../scheduling/turn-batcher.ts";
import { type Answer, Exchange, type ExchangeOptions } from "./exchange.ts";
import { drainWithinBounds, preventAutoDrain } from "./node-faults/http1-unread-body.ts";
import { byteLength, chunks, isStream, sendBody } from "./send-body.ts";

/** An exchange over HTTP/1.1. */
export class Http1Exchange extends Exchange {
  readonly httpVersion = "1.1";
  readonly body: IncomingMessage;
  readonly #response: ServerResponse;
  /** Node takes it from the request when that is destroyed. */
  readonly #socket: Socket;

  constructor(request: IncomingMessage, response: ServerResponse, options: ExchangeOptions) {
    const { socket, headers } = request;
    const head = {
      method: request.method ?? "",
      target: request.url ?? "",
      rawHeaders: request.rawHeaders,
      authority: undefined,
      isEncrypted: (socket as TLSSocket).encrypted === true,
      peerAddress: socket.remoteAddress ?? "",
      sendContinue: headers.expect?.toLowerCase() === "100-continue" ? () => response.writeContinue() : undefined,
    };
    super(head, options);
    this.body = request;
    this.#response = response;
    this.#socket = socket;
  }

  protected takeWholeBody(): undefined {
    return undefined;
  }

  protected onAbandoned(listener: () => void): void {
    const response = this.#response;
    if (response.closed) {
      listener();
    }
    response.once("close", () => {
      if (!response.writableFinished) {
        listener();
      }
    });
  }

  get isAbandoned(): boolean {
    return this.#response.destroyed;
  }

  async respond({ status, header, body, trailer }: Answer): Promise<void> {
    await new Promise<void>((resume) => answers.add(resume));
    const response = this.#response;
    if (response.destroyed) {
      return;
    }
    const unread = this.body.complete ? undefined : { request: this.body, socket: this.#socket };
    if (unread !== undefined) {
      preventAutoDrain(unread);
    }
    this.record.status = status;
    const raw = this.rawHeader(header);
    const isHead = this.method === "HEAD";
    if (!isStream(body) && trailer === undefined) {
      const length = byteLength(body);
      if (status !== 204 && status !== 304) {
        raw.push("content-length", String(length));
      }
      response.writeHead(status, raw);
      if (body instanceof Uint8Array && !isHead) {
        endWithBytes(response, body);
      } else {
        response.end(isHead ? undefined : body);
      }
      this.noteSent(isHead ? 0 : length);
    } else if (isHead) {
      response.writeHead(status, raw);
      response.end();
      this.noteSent(0);
    } else {
      response.writeHead(status, raw);
      if (this.record.isStream) {
        // Its first message may be long in coming.
        response.flushHeaders();
      }
      this.noteStreamed(await sendBody(response, chunks(body), trailer), response.writableFinished);
    }
    if (unread !== undefined) {
      drainWithinBounds(unread);
    }
  }

  abort(): void {
    this.#socket.destroy();
  }
}

/** Writes the answers that are ready in one row, before the next turn of the event loop. */
const answers = new TurnBatcher<() => void>(nextTick, (resume) => resume());

/** The largest body that is copied to be sent together with the head, in bytes. */
const onePieceBytes = 16 * 1024;

/** Node sends a text together with the head in one system call, but bytes in a second one. */
function endWithBytes(response: ServerResponse, body: Uint8Array): void {
  if (body.length <= onePieceBytes) {
    response.end(Buffer.from(body.buffer, body.byteOffset, body.length).toString("latin1"), "latin1");
  } else {
    response.end(body);
  }
}
