import type { ConnectError } from "@connectrpc/connect";
import {
  codeToHttpStatus,
  errorToJsonBytes,
  headerUnaryEncoding,
  parseTimeout,
} from "@connectrpc/connect/protocol-connect";
import type { Exchange } from "../http/exchange.ts";
import { ProtocolError, type ProtocolErrorKind } from "../http/protocol-error.ts";
import { encodeMessage, jsonCodec } from "./codec.ts";
import { getRequest, postRequest } from "./connect-request.ts";
import { readTimeout } from "./timeout.ts";
import type { UnaryCall, UnaryProtocol } from "./unary-protocol.ts";

/**
 * Unary calls over the Connect protocol.
 *
 * Source: https://connectrpc.com/docs/protocol/
 */
export const connectProtocol: UnaryProtocol = { name: "connect", open };

function open(exchange: Exchange, readMaxBytes: number): UnaryCall {
  const request = exchange.method === "POST" ? postRequest(exchange) : getRequest(exchange);
  const timeout = readTimeout(exchange.header("connect-timeout-ms"), parseTimeout);

  async function respond(
    status: number,
    header: Headers,
    contentType: string,
    body: string | Uint8Array,
  ): Promise<void> {
    header.set("content-type", contentType);
    const compressed = await request.compression.compress(body);
    if (compressed.name !== undefined) {
      header.set(headerUnaryEncoding, compressed.name);
    }
    await exchange.respond({ status, header, body: compressed.body });
  }

  return {
    timeoutMs: timeout.timeoutMs,
    async read(input, deadline) {
      const codec = request.codec();
      const bytes = await request.bytes(readMaxBytes, deadline);
      timeout.assertValid();
      return codec.decode(input, bytes);
    },
    async answer(method, { header, trailer, message }) {
      const codec = request.codec();
      const contentType = codec === jsonCodec ? "application/json" : "application/proto";
      trailer.forEach((value, name) => {
        header.append(`trailer-${name}`, value);
      });
      await respond(200, header, contentType, await encodeMessage(codec, method.output, message));
    },
    fail(error) {
      return respond(
        errorToHttpStatus(error),
        new Headers(error.metadata),
        "application/json",
        errorToJsonBytes(error, {}),
      );
    },
  };
}

/** That an RPC is not served is told by HTTP; all other statuses are those that the protocol gives to the code. */
function errorToHttpStatus(error: ConnectError): number {
  const status = error instanceof ProtocolError ? httpStatuses[error.kind] : undefined;
  return status ?? codeToHttpStatus(error.code);
}

const httpStatuses: Partial<Record<ProtocolErrorKind, number>> = {
  unknown_route: 404,
  method_not_allowed: 405,
  unsupported_media_type: 415,
};
