import type { DescMethod } from "@bufbuild/protobuf";
import { base64Decode } from "@bufbuild/protobuf/wire";
import type { ConnectError } from "@connectrpc/connect";
import {
  codeToHttpStatus,
  errorToJsonBytes,
  headerUnaryEncoding,
  parseTimeout,
} from "@connectrpc/connect/protocol-connect";
import type { Answer, Exchange } from "../http/exchange.ts";
import type { HeaderList } from "../http/header-list.ts";
import { ProtocolError, type ProtocolErrorKind } from "../http/protocol-error.ts";
import type { ProtocolCall } from "./call.ts";
import { binaryCodec, type Codec, decodeMessage, encodePrepared } from "./codec.ts";
import { CallCompression, isTooShort } from "./compression.ts";
import { PreparedMessage } from "./prepared-message.ts";
import type { RpcFormat, RpcProtocol, RpcRequest } from "./rpc-protocol.ts";
import { readTimeout } from "./timeout.ts";

/**
 * Unary calls over the Connect protocol.
 *
 * Source: https://connectrpc.com/docs/protocol/
 */
export const connectProtocol: RpcProtocol = { name: "connect", open };

function open(
  { exchange, protocol, contentType, contentFault }: RpcRequest,
  { input, output }: DescMethod,
  { readMaxBytes, json, registry }: RpcFormat,
): ProtocolCall {
  const request = exchange.method === "POST" ? postRequest(exchange, contentType, json) : getRequest(exchange, json);
  const timeout = readTimeout(exchange.header("connect-timeout-ms"), parseTimeout);

  async function encoded(status: number, header: HeaderList, uncompressed: string | Uint8Array): Promise<Answer> {
    const compressed = isTooShort(uncompressed) ? undefined : await request.compression.compress(uncompressed);
    if (compressed !== undefined) {
      header.set(headerUnaryEncoding, compressed.name);
    }
    return { status, header, body: compressed?.body ?? uncompressed };
  }

  return {
    exchange,
    protocolName: protocol.name,
    timeoutMs: timeout.timeoutMs,
    async read(signal) {
      const codec = request.codec();
      const bytes = await request.bytes(readMaxBytes, signal);
      timeout.assertValid();
      return decodeMessage(codec, input, bytes, contentFault);
    },
    async answer(response, header) {
      if (response.stream) {
        throw new Error("a streaming call has no unary answer");
      }
      const { trailer, message } = response;
      const codec = request.codec();
      appendTrailer(header, trailer);
      header.set("content-type", codec === json ? "application/json" : "application/proto");
      const bytes =
        message instanceof PreparedMessage
          ? await encodePrepared(codec, output, message)
          : codec.encode(output, message);
      return await encoded(200, header, bytes);
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

/** The message in a unary request over the Connect protocol: in the body of a POST, or the query of a GET. */
export interface ConnectRequest {
  readonly compression: CallCompression;
  /** Throws `unsupported_media_type` or `malformed`. */
  codec(): Codec;
  /** The message, decompressed. */
  bytes(maxBytes: number, signal: AbortSignal | undefined): Promise<Uint8Array>;
}

/** Source: https://connectrpc.com/docs/protocol/#unary-request */
function postRequest(exchange: Exchange, contentType: string | undefined, json: Codec): ConnectRequest {
  const compression = callCompression(exchange, exchange.header("content-encoding"));
  return {
    compression,
    codec: () => codecOfContentType(json, contentType),
    async bytes(maxBytes, signal) {
      return compression.decompress(await exchange.readBody(maxBytes, signal), maxBytes);
    },
  };
}

/** Source: https://connectrpc.com/docs/protocol/#unary-get-request */
function getRequest(exchange: Exchange, json: Codec): ConnectRequest {
  const query = new URLSearchParams(exchange.query);
  const compression = callCompression(exchange, query.get("compression") ?? undefined);
  return {
    compression,
    codec: () => codecOfQuery(json, query.get("encoding")),
    async bytes(maxBytes) {
      const message = query.get("message") ?? "";
      const bytes = query.get("base64") === "1" ? decodeBase64(message) : new TextEncoder().encode(message);
      return compression.decompress(bytes, maxBytes);
    },
  };
}

function callCompression(exchange: Exchange, requested: string | undefined): CallCompression {
  return new CallCompression(exchange, requested, "accept-encoding");
}

/** A body without a content type is taken as JSON. */
function codecOfContentType(json: Codec, contentType = "application/json"): Codec {
  if (/^application\/proto\s*(;|$)/i.test(contentType)) {
    return binaryCodec;
  }
  if (/^application\/json\s*(;\s*charset="?utf-8"?\s*)?$/i.test(contentType)) {
    return json;
  }
  const types = "application/json, application/proto";
  throw new ProtocolError("unsupported_media_type", `Send the request as one of: ${types}.`, { "accept-post": types });
}

function codecOfQuery(json: Codec, encoding: string | null): Codec {
  switch (encoding) {
    case "json":
      return json;
    case "proto":
      return binaryCodec;
    default:
      throw new ProtocolError("malformed", "The query parameter `encoding` must be `json` or `proto`.");
  }
}

function decodeBase64(text: string): Uint8Array {
  try {
    return base64Decode(text);
  } catch {
    throw new ProtocolError("malformed", "The query parameter `message` is not valid base64.");
  }
}
