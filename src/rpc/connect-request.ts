import { base64Decode } from "@bufbuild/protobuf/wire";
import { headerUnaryAcceptEncoding } from "@connectrpc/connect/protocol-connect";
import type { Exchange } from "../http/exchange.ts";
import { ProtocolError } from "../http/protocol-error.ts";
import { binaryCodec, type Codec } from "./codec.ts";
import { CallCompression } from "./compression.ts";

/** The message in a unary request over the Connect protocol: in the body of a POST, or the query of a GET. */
export interface ConnectRequest {
  readonly compression: CallCompression;
  /** Throws `unsupported_media_type` or `malformed`. */
  codec(): Codec;
  /** The message, decompressed. */
  bytes(maxBytes: number, signal: AbortSignal | undefined): Promise<Uint8Array>;
}

/** Source: https://connectrpc.com/docs/protocol/#unary-request */
export function postRequest(exchange: Exchange, contentType: string | undefined, json: Codec): ConnectRequest {
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
export function getRequest(exchange: Exchange, json: Codec): ConnectRequest {
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
  return new CallCompression(exchange, requested, headerUnaryAcceptEncoding);
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
