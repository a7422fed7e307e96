import { constants, type IncomingHttpHeaders, type ServerHttp2Stream } from "node:http2";
import type { TLSSocket } from "node:tls";
import { BaseExchange, type ExchangeOptions } from "./base-exchange.ts";
import { discardBody } from "./body.ts";
import type { Answer } from "./exchange.ts";
import { byteLength, inPieces, isLarge, isStream, sendBody } from "./send-body.ts";
import { giveUpStalled } from "./stalled-stream.ts";
import { endWith } from "./unsent-bytes.ts";

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
  }

  protected startBody(): void {
    // HTTP/2 clients that wait for `100 Continue` are rare, and may send their body without it.
  }

  protected onAbandoned(listener: () => void): void {
    const stream = this.body;
    if (stream.closed) {
      listener();
    }
    stream.once("close", () => {
      if (!stream.writableFinished) {
        listener();
      }
    });
  }

  get isAbandoned(): boolean {
    return this.body.destroyed || this.body.closed;
  }

  async respond({ status, header, body, trailer }: Answer): Promise<void> {
    const stream = this.body;
    if (this.isAbandoned) {
      return;
    }
    this.record.status = status;
    const raw = [":status", String(status), ...this.rawHeader(header)];
    const length = isStream(body) ? undefined : byteLength(body);
    if (body !== undefined && length !== undefined && trailer === undefined) {
      raw.push("content-length", String(length));
    }
    const isHeadersOnly = body === undefined || this.method === "HEAD";
    const waitForTrailers = trailer !== undefined;
    stream.respond(raw, { endStream: isHeadersOnly && !waitForTrailers, waitForTrailers });
    if (waitForTrailers) {
      stream.on("wantTrailers", () => stream.sendTrailers(trailerOf(trailer)));
    }
    if (isHeadersOnly) {
      stream.end();
      this.noteSent(0);
    } else if (isStream(body) || isLarge(body)) {
      giveUpStalled(stream);
      this.noteStreamed(await sendBody(stream, inPieces(body)), stream);
    } else {
      if ((length ?? 0) > maxHeldBytes) {
        giveUpStalled(stream);
      }
      endWith(stream, body, length ?? 0);
      this.noteSent(length ?? 0);
    }
    if (!stream.readableEnded && !stream.closed) {
      // Reset at once, the stream would take back what of the answer has not left yet. Source: RFC 9113, section 8.1.
      discardBody(stream, () => stream.close(constants.NGHTTP2_NO_ERROR));
    }
  }

  abort(): void {
    this.body.close(constants.NGHTTP2_INTERNAL_ERROR);
  }
}

/** An answer that is no longer may wait for its client for as long as the connection. */
const maxHeldBytes = 16 * 1024;

function trailerOf(trailer: Headers): Record<string, string> {
  const fields: Record<string, string> = {};
  trailer.forEach((value, name) => {
    fields[name] = value;
  });
  return fields;
}
