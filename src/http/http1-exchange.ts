import type { IncomingMessage, ServerResponse } from "node:http";
import type { TLSSocket } from "node:tls";
import { BaseExchange, type ExchangeOptions } from "./base-exchange.ts";
import type { Answer } from "./exchange.ts";
import { sendBody } from "./send-body.ts";

/** An exchange over HTTP/1.1. */
export class Http1Exchange extends BaseExchange {
  readonly httpVersion = "1.1";
  protected readonly body: IncomingMessage;
  readonly #response: ServerResponse;
  /** Whether the client waits for `100 Continue` before it sends the body. */
  #expectsContinue: boolean;

  constructor(request: IncomingMessage, response: ServerResponse, options: ExchangeOptions) {
    const { socket } = request;
    const head = {
      method: request.method ?? "",
      target: request.url ?? "",
      rawHeaders: request.rawHeaders,
      authority: undefined,
      isEncrypted: (socket as TLSSocket).encrypted === true,
      peerAddress: socket.remoteAddress ?? "",
    };
    super(head, options);
    this.body = request;
    this.#response = response;
    this.#expectsContinue = request.headers.expect?.toLowerCase() === "100-continue";
    response.on("close", () => {
      if (!response.writableFinished) {
        this.abandon();
      }
    });
  }

  protected startBody(): void {
    if (this.#expectsContinue) {
      this.#expectsContinue = false;
      this.#response.writeContinue();
    }
  }

  async respond({ status, header, body, trailer }: Answer): Promise<void> {
    const response = this.#response;
    if (response.destroyed) {
      return;
    }
    const fields = [...header, ...this.addedHeaders];
    if (body === undefined || body instanceof Uint8Array) {
      const hasLength = status >= 200 && status !== 204 && status !== 304;
      response.writeHead(
        status,
        [...fields, ...(hasLength ? [["content-length", String(body?.length ?? 0)]] : [])].flat(),
      );
      await sendBody(response, this.method === "HEAD" ? undefined : body);
      return;
    }
    response.writeHead(status, fields.flat());
    if (trailer !== undefined) {
      response.addTrailers([...trailer]);
    }
    await sendBody(response, this.method === "HEAD" ? undefined : body);
  }
}
