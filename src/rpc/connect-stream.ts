import type { DescMethod, JsonObject, Registry } from "@bufbuild/protobuf";
import type { ConnectError } from "@connectrpc/connect";
import { endStreamFlag, endStreamToJson, parseTimeout } from "@connectrpc/connect/protocol-connect";
import { ProtocolError } from "../http/protocol-error.ts";
import type { ProtocolCall } from "./call.ts";
import { binaryCodec, type Codec, decodeMessage } from "./codec.ts";
import { CallCompression } from "./compression.ts";
import { connectProtocol } from "./connect.ts";
import { closeEnvelope, readEnveloped } from "./envelope.ts";
import type { RpcFormat, RpcProtocol, RpcRequest } from "./rpc-protocol.ts";
import { streamBody } from "./stream-body.ts";
import { readTimeout } from "./timeout.ts";

/**
 * Server-streaming calls over the Connect protocol.
 *
 * Source: https://connectrpc.com/docs/protocol/#streaming-rpcs
 */
export const connectStreamProtocol: RpcProtocol = { name: connectProtocol.name, open };

/** The header that lists the compressions that a side takes. */
const acceptHeader = "connect-accept-encoding";

function open(request: RpcRequest, method: DescMethod, format: RpcFormat): ProtocolCall {
  const { exchange, protocol, contentType = "", contentFault } = request;
  const { readMaxBytes, json, registry, toError } = format;
  const codec = codecOf(contentType, json);
  const timeout = readTimeout(exchange.header("connect-timeout-ms"), parseTimeout);
  if (codec === undefined) {
    return unsupported(request, method, format);
  }
  const compression = new CallCompression(exchange, exchange.header("connect-content-encoding"), acceptHeader);
  const end = (trailer: Headers, error: ConnectError | undefined) =>
    closeEnvelope(JSON.stringify(endOfStream(trailer, error, registry)), endStreamFlag);

  return {
    exchange,
    protocolName: protocol.name,
    timeoutMs: timeout.timeoutMs,
    async read(signal) {
      const message = await readEnveloped(exchange, { compression, maxBytes: readMaxBytes, signal });
      timeout.assertValid();
      return decodeMessage(codec, method.input, message, contentFault);
    },
    async answer(response, header) {
      if (!response.stream) {
        throw new Error("a unary call has no streaming answer");
      }
      header.set("content-type", contentType);
      const body = streamBody(response.message, {
        output: method.output,
        codec,
        toClientError: (reason) => toError(reason, exchange),
        end: (error) => end(response.trailer, error),
      });
      return { status: 200, header, body };
    },
    async fail(error, header, trailer) {
      header.set("content-type", contentType);
      const accepted = error.metadata.get(acceptHeader);
      if (accepted !== null) {
        header.set(acceptHeader, accepted);
      }
      return { status: 200, header, body: end(trailer, error) };
    },
  };
}

/**
 * What a stream ends with, with all values of each trailer: Connect's function keeps the last one of a `HeaderList`.
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

/** HTTP tells of a content type that is none of the protocol's. */
function unsupported(request: RpcRequest, method: DescMethod, format: RpcFormat): ProtocolCall {
  const types = "application/connect+proto, application/connect+json";
  return {
    ...connectProtocol.open(request, method, format),
    async read() {
      const accepted = { "accept-post": types };
      throw new ProtocolError("unsupported_media_type", `Send the request as one of: ${types}.`, accepted);
    },
  };
}

function codecOf(contentType: string, json: Codec): Codec | undefined {
  const name = /^application\/connect\+(proto|json)\s*(;|$)/i.exec(contentType)?.[1]?.toLowerCase();
  return name === undefined ? undefined : name === "proto" ? binaryCodec : json;
}
