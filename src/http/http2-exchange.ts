import { constants, type IncomingHttpHeaders, type ServerHttp2Stream } from "node:http2";
import type { TLSSocket } from "node:tls";
import { type Answer, Exchange, type ExchangeOptions } from "./exchange.ts";
import { resetIfStalled } from "./node-faults/http2-timeouts.ts";
import { drainRequest, respondAndReset } from "./node-faults/http2-unread-request.ts";
import { endWithBody } from "./node-faults/http2-unsent-bytes.ts";
import { byteLength, inPieces, isLarge, isStream, sendBody } from "./send-body.ts";

/** An exchange over HTTP/2: one stream. */
export class Http2Exchange extends Exchange {
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
      // HTTP/2 clients that wait for `100 Continue` are rare, and may send their body without it.
      sendContinue: undefined,
    };
    super(head, options);
    this.body = stream;
  }

  protected onAbandoned(listener: () => void): void {
    const stream = this.body;
    if (stream.closed) {
      listener();
    }
    stream.once("close", () => {
      // Node ends the writing side of a stream that its client resets, so it counts as finished.
      if (stream.aborted || !stream.writableFinished) {
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
    const endStream = isHeadersOnly && !waitForTrailers;
    if (endStream && this.record.requestBytes <= resetMaxBytes) {
      // gRPC clients, whose errors are such answers, expect a reset.
      return respondAndReset(stream, () => {
        stream.respond(raw, { endStream });
        stream.end();
        this.noteSent(0);
      });
    }
    stream.respond(raw, { endStream, waitForTrailers });
    if (waitForTrailers) {
      stream.on("wantTrailers", () => stream.sendTrailers(trailerOf(trailer)));
    }
    if (isHeadersOnly) {
      stream.end();
      this.noteSent(0);
    } else if (isStream(body) || isLarge(body)) {
      // A stream goes on when its client reads again. It holds no answer meanwhile.
      if (!this.record.isStream) {
        resetIfStalled(stream);
      }
      this.noteStreamed(await sendBody(stream, inPieces(body)), stream);
    } else {
      if ((length ?? 0) > maxHeldBytes) {
        resetIfStalled(stream);
      }
      endWithBody(stream, body, length ?? 0);
      this.noteSent(length ?? 0);
    }
    drainRequest(stream);
  }

  abort(): void {
    this.body.close(constants.NGHTTP2_INTERNAL_ERROR);
  }
}

/** The largest answer that may wait for its client as long as the connection does, in bytes. */
const maxHeldBytes = 16 * 1024;

/**
 * The most that a client may have sent for its answer to be reset, in bytes. A client that has sent more is still
 * sending, and Node's client then loses an answer that comes with a reset. Source: RFC 9113, section 6.9.2
 */
const resetMaxBytes = 65_535;

/** A field with several values is sent as several lines. */
function trailerOf(trailer: Headers): Record<string, string | string[]> {
  const fields: Record<string, string | string[]> = {};
  trailer.forEach((value, name) => {
    const former = fields[name];
    fields[name] = former === undefined ? value : [former, value].flat();
  });
  return fields;
}
