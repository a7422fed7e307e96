import type { ConnectError } from "@connectrpc/connect";
import {
  codeToHttpStatus,
  errorToJsonBytes,
  headerUnaryEncoding,
  parseTimeout,
} from "@connectrpc/connect/protocol-connect";
import type { Answer } from "../http/exchange.ts";
import type { HeaderList } from "../http/header-list.ts";
import { ProtocolError, type ProtocolErrorKind } from "../http/protocol-error.ts";
import { encodeMessage } from "./codec.ts";
import { getRequest, postRequest } from "./connect-request.ts";
import type { OpenedCall, RpcFormat, RpcProtocol, RpcRequest } from "./rpc-protocol.ts";
import { readTimeout } from "./timeout.ts";

/**
 * Unary calls over the Connect protocol.
 *
 * Source: https://connectrpc.com/docs/protocol/
 */
export const connectProtocol: RpcProtocol = { name: "connect", open };

function open({ exchange, contentType }: RpcRequest, { readMaxBytes, json, registry }: RpcFormat): OpenedCall {
  const request = exchange.method === "POST" ? postRequest(exchange, contentType, json) : getRequest(exchange, json);
  const timeout = readTimeout(exchange.header("connect-timeout-ms"), parseTimeout);

  async function encoded(status: number, header: HeaderList, uncompressed: string | Uint8Array): Promise<Answer> {
    const { body, name } = await request.compression.compress(uncompressed);
    if (name !== undefined) {
      header.set(headerUnaryEncoding, name);
    }
    return { status, header, body };
  }

  return {
    timeoutMs: timeout.timeoutMs,
    async read(input, signal) {
      const codec = request.codec();
      const bytes = await request.bytes(readMaxBytes, signal);
      timeout.assertValid();
      return codec.decode(input, bytes);
    },
    async answer(method, { trailer, message }, header) {
      const codec = request.codec();
      appendTrailer(header, trailer);
      header.set("content-type", codec === json ? "application/json" : "application/proto");
      return await encoded(200, header, await encodeMessage(codec, method.output, message));
    },
    async fail(error, header, trailer) {
      header.appendAll(error.metadata);
      appendTrailer(header, trailer);
      header.set("content-type", "application/json");
      return await encoded(errorToHttpStatus(error), header, errorToJsonBytes(error, { registry }));
    },
  };
}

function appendTrailer(header: HeaderList, trailer: Headers): void {
  trailer.forEach((value, name) => {
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
