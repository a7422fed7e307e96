import { constants, type IncomingHttpHeaders, type ServerHttp2Stream } from "node:http2";
import type { TLSSocket } from "node:tls";
import { BaseExchange, type ExchangeOptions } from "./base-exchange.ts";
import type { Answer } from "./exchange.ts";
import { sendBody } from "./send-body.ts";

/** How long a client that has its answer may go on sending a body, in milliseconds. */
const discardMs = 1_000;

/** An exchange over HTTP/2: one stream. */
export class Http2Exchange extends BaseExchange {
  readonly httpVersion = "2";
  protected readonly body: ServerHttp2Stream;

  constructor(
    stream: ServerHttp2Stream,
    headers: IncomingHttpHeaders,
    rawHeaders: readonly string[],
    options: ExchangeOptions,
  ) {
    const socket = stream.session?.socket;
    const head = {
      method: String(headers[":method"] ?? ""),
      target: String(headers[":path"] ?? ""),
      rawHeaders,
      authority: headers[":authority"],
      isEncrypted: (socket as TLSSocket | undefined)?.encrypted === true,
      peerAddress: socket?.remoteAddress ?? "",
    };
    super(head, options);
    this.body = stream;
    stream.on("close", () => {
      if (!stream.writableFinished) {
        this.abandon();
      }
    });
    // A reset stream reports an error; all that it means to us is that the client has gone away.
    stream.on("error", () => this.abandon());
  }

  protected startBody(): void {
    // HTTP/2 clients that wait for `100 Continue` are rare, and may send their body without it.
  }

  async respond({ status, header, body, trailer }: Answer): Promise<void> {
    const stream = this.body;
    if (stream.destroyed || stream.closed) {
      return;
    }
    const fields: Record<string, string | string[] | number> = { ":status": status };
    for (const [name, value] of [...header, ...this.addedHeaders]) {
      const present = fields[name];
      fields[name] = present === undefined ? value : [...[present].flat(), value].map(String);
    }
    if (body instanceof Uint8Array && trailer === undefined) {
      fields["content-length"] = body.length;
    }
    const isHeadersOnly = body === undefined || this.method === "HEAD";
    stream.respond(fields, {
      endStream: isHeadersOnly && trailer === undefined,
      waitForTrailers: trailer !== undefined,
    });
    stream.once("wantTrailers", () => stream.sendTrailers(Object.fromEntries(trailer ?? [])));
    await sendBody(stream, isHeadersOnly ? undefined : body);
    if (!stream.readableEnded && !stream.closed) {
      this.#discardBody();
    }
  }

  /**
   * The rest of a body that was not read is not wanted either. It is discarded for a moment, and not reset at once,
   * which would take back what of the answer has not left yet. Source: RFC 9113, section 8.1.
   */
  #discardBody(): void {
    const stream = this.body;
    const timer = setTimeout(() => stream.close(constants.NGHTTP2_NO_ERROR), discardMs);
    stream.once("close", () => clearTimeout(timer));
    stream.resume();
  }
}
