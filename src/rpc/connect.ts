import type { DescMethod, JsonObject, Registry } from "@bufbuild/protobuf";
import { base64Decode } from "@bufbuild/protobuf/wire";
import type { ConnectError } from "@connectrpc/connect";
import {
  codeToHttpStatus,
  endStreamFlag,
  endStreamToJson,
  errorToJsonBytes,
  headerUnaryEncoding,
  parseTimeout,
} from "@connectrpc/connect/protocol-connect";
import type { Answer, Exchange } from "../http/exchange.ts";
import { HeaderList } from "../http/header-list.ts";
import { ProtocolError, type ProtocolErrorKind } from "../http/protocol-error.ts";
import type { ProtocolCall } from "./call.ts";
import { binaryCodec, type Codec, decodeMessage, encodePrepared } from "./codec.ts";
import { CallCompression, isTooShort } from "./compression.ts";
import { closeEnvelope, readEnveloped, repeatInTrailer, streamBody } from "./envelope.ts";
import { PreparedMessage } from "./prepared-message.ts";
import { type RpcFormat, type RpcProtocol, type RpcRequest, readTimeout } from "./rpc-protocol.ts";

/**
 * Calls over the Connect protocol, which writes streams in another form than unary calls.
 *
 * Source: https://connectrpc.com/docs/protocol/
 */
export const connectProtocol: RpcProtocol = {
  name: "connect",
  open: (request, method, format) => (method.methodKind === "unary" ? openUnary : openStream)(request, method, format),
};

function openUnary(
  { exchange, contentType }: RpcRequest,
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
    protocolName: connectProtocol.name,
    timeoutMs: timeout.timeoutMs,
    async read(signal) {
      const codec = request.codec();
      const bytes = await request.bytes(readMaxBytes, signal);
      timeout.assertValid();
      return decodeMessage(codec, input, bytes, exchange);
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

/**
 * The HTTP status of an error. `httpStatuses` has those of requests that no RPC serves. For all others, the protocol
 * maps the code to a status.
 */
function errorToHttpStatus(error: ConnectError): number {
  const status = error instanceof ProtocolError ? httpStatuses[error.kind] : undefined;
  return status ?? codeToHttpStatus(error.code);
}

const httpStatuses: Partial<Record<ProtocolErrorKind, number>> = {
  unknown_route: 404,
  method_not_allowed: 405,
  unsupported_media_type: 415,
  headers_too_large: 431,
};

/** The message in a unary request over the Connect protocol: in the body of a POST, or the query of a GET. */
interface UnaryMessage {
  readonly compression: CallCompression;
  /** Throws `unsupported_media_type` or `malformed`. */
  codec(): Codec;
  /** The message, decompressed. */
  bytes(maxBytes: number, signal: AbortSignal | undefined): Promise<Uint8Array>;
}

/** Source: https://connectrpc.com/docs/protocol/#unary-request */
function postRequest(exchange: Exchange, contentType: string | undefined, json: Codec): UnaryMessage {
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
function getRequest(exchange: Exchange, json: Codec): UnaryMessage {
  const query = new URLSearchParams(exchange.query);
  const compression = callCompression(exchange, query.get("compression") ?? undefined);
  return {
    compression,
    codec: () => codecOfQuery(json, query.get("encoding")),
    async bytes(maxBytes, signal) {
      signal?.throwIfAborted();
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

/** The header that lists the compressions that a side accepts. */
const streamAcceptHeader = "connect-accept-encoding";

/** Source: https://connectrpc.com/docs/protocol/#streaming-rpcs */
function openStream(request: RpcRequest, method: DescMethod, format: RpcFormat): ProtocolCall {
  const { exchange, contentType = "" } = request;
  const { readMaxBytes, json, registry, toError } = format;
  const codec = codecOfStream(contentType, json);
  const timeout = readTimeout(exchange.header("connect-timeout-ms"), parseTimeout);
  if (codec === undefined) {
    return unsupportedStream(request, method, format);
  }
  const compression = new CallCompression(exchange, exchange.header("connect-content-encoding"), streamAcceptHeader);
  const end = (trailer: Headers, error: ConnectError | undefined) =>
    closeEnvelope(JSON.stringify(endOfStream(trailer, error, registry)), endStreamFlag);

  return {
    exchange,
    protocolName: connectProtocol.name,
    timeoutMs: timeout.timeoutMs,
    async read(signal) {
      const message = await readEnveloped(exchange, { compression, maxBytes: readMaxBytes, signal });
      timeout.assertValid();
      return decodeMessage(codec, method.input, message, exchange);
    },
    async answer(response, header) {
      if (!response.stream) {
        throw new Error("a unary call has no streaming answer");
      }
      const repeated = new HeaderList(header);
      header.set("content-type", contentType);
      const body = streamBody(response.message, {
        output: method.output,
        codec,
        toClientError: (reason) => toError(reason, exchange),
        end: (error) => {
          const { trailer } = response;
          return end(error === undefined ? trailer : repeatInTrailer(trailer, repeated, exchange), error);
        },
      });
      return { status: 200, header, body };
    },
    async fail(error, header, trailer) {
      const body = end(repeatInTrailer(trailer, header, exchange), error);
      header.set("content-type", contentType);
      const accepted = error.metadata.get(streamAcceptHeader);
      if (accepted !== null) {
        header.set(streamAcceptHeader, accepted);
      }
      return { status: 200, header, body };
    },
  };
}

/**
 * The EndStreamResponse, with all values of each trailer. Connect's own function keeps only the last value of a name in
 * a `HeaderList`.
 *
 * Source: https://connectrpc.com/docs/protocol/#error-end-stream
 */
function endOfStream(trailer: Headers, error: ConnectError | undefined, registry: Registry): JsonObject {
  // This appends the error's metadata to the trailer.
  const end = endStreamToJson(trailer, error, { registry });
  const metadata: Record<string, string[]> = {};
  for (const [name, value] of trailer) {
    metadata[name] ??= [];
    metadata[name].push(value);
  }
  return "metadata" in end ? { ...end, metadata } : end;
}

/** Refuses a content type that is not one of the protocol's for streams, with the HTTP status 415. */
function unsupportedStream(request: RpcRequest, method: DescMethod, format: RpcFormat): ProtocolCall {
  const types = "application/connect+proto, application/connect+json";
  return {
    ...openUnary(request, method, format),
    async read() {
      const accepted = { "accept-post": types };
      throw new ProtocolError("unsupported_media_type", `Send the request as one of: ${types}.`, accepted);
    },
  };
}

function codecOfStream(contentType: string, json: Codec): Codec | undefined {
  const name = /^application\/connect\+(proto|json)\s*(;|$)/i.exec(contentType)?.[1]?.toLowerCase();
  return name === undefined ? undefined : name === "proto" ? binaryCodec : json;
}
