import type { ConnectError } from "@connectrpc/connect";
import {
  codeToHttpStatus,
  errorToJsonBytes,
  headerUnaryEncoding,
  parseTimeout,
} from "@connectrpc/connect/protocol-connect";
import type { Exchange } from "../http/exchange.ts";
import { ProtocolError, type ProtocolErrorKind } from "../http/protocol-error.ts";
import { encodeMessage } from "./codec.ts";
import { getRequest, postRequest } from "./connect-request.ts";
import { readTimeout } from "./timeout.ts";
import type { RpcFormat, UnaryCall, UnaryProtocol } from "./unary-protocol.ts";

/**
 * Unary calls over the Connect protocol.
 *
 * Source: https://connectrpc.com/docs/protocol/
 */
export const connectProtocol: UnaryProtocol = { name: "connect", open };

function open(exchange: Exchange, { readMaxBytes, json, registry }: RpcFormat): UnaryCall {
  const request = exchange.method === "POST" ? postRequest(exchange, json) : getRequest(exchange, json);
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
      const contentType = codec === json ? "application/json" : "application/proto";
      appendTrailer(header, trailer);
      await respond(200, header, contentType, await encodeMessage(codec, method.output, message));
    },
    fail(error, trailer) {
      const header = new Headers(error.metadata);
      appendTrailer(header, trailer);
      return respond(errorToHttpStatus(error), header, "application/json", errorToJsonBytes(error, { registry }));
    },
  };
}

function appendTrailer(header: Headers, trailer: Headers | undefined): void {
  trailer?.forEach((value, name) => {
    header.append(`trailer-${name}`, value);
  });
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
