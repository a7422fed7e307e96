import type { DescMessage } from "@bufbuild/protobuf";
import { compressedFlag, mergeNonProtocolHeaders } from "@connectrpc/connect/protocol";
import {
  headerAcceptEncoding,
  headerEncoding,
  parseTimeout,
  setTrailerStatus,
} from "@connectrpc/connect/protocol-grpc";
import { trailerFlag, trailerSerialize } from "@connectrpc/connect/protocol-grpc-web";
import type { Answer } from "../http/exchange.ts";
import { HeaderList } from "../http/header-list.ts";
import { ProtocolError } from "../http/protocol-error.ts";
import { binaryCodec, type Codec, encodeMessage } from "./codec.ts";
import { CallCompression } from "./compression.ts";
import { closeEnvelope, envelopeHeadBytes, openEnvelope } from "./envelope.ts";
import type { OpenedCall, RpcFormat, RpcProtocol, RpcRequest } from "./rpc-protocol.ts";
import { readTimeout } from "./timeout.ts";

/**
 * Unary calls over gRPC.
 *
 * Source: https://github.com/grpc/grpc/blob/master/doc/PROTOCOL-HTTP2.md
 */
export const grpcProtocol: RpcProtocol = {
  name: "grpc",
  open(request, format) {
    return openEnveloped(request, format, (header, body, trailer) => ({ status: 200, header, body, trailer }));
  },
};

/**
 * Unary calls over gRPC-Web: gRPC, with the trailer as a last envelope of the body.
 *
 * Source: https://github.com/grpc/grpc/blob/master/doc/PROTOCOL-WEB.md
 */
export const grpcWebProtocol: RpcProtocol = {
  name: "grpc-web",
  open(request, format) {
    return openEnveloped(request, format, (header, message, trailer) => {
      const body = Buffer.concat([message, closeEnvelope(trailerSerialize(trailer), trailerFlag)]);
      return { status: 200, header, body };
    });
  },
};

/** Makes the answer of a call that has succeeded, of its message in an envelope, and its trailer with the status. */
type MakeAnswer = (header: HeaderList, message: Uint8Array, trailer: Headers) => Answer;

/** What gRPC and gRPC-Web share: all but the place of the trailer. */
function openEnveloped(
  { exchange, contentType = "" }: RpcRequest,
  { readMaxBytes, json }: RpcFormat,
  makeAnswer: MakeAnswer,
): OpenedCall {
  const codec = codecOf(contentType, json);
  const timeout = readTimeout(exchange.header("grpc-timeout"), parseTimeout);
  const compression = new CallCompression(exchange, exchange.header("grpc-encoding"), headerAcceptEncoding);

  return {
    timeoutMs: timeout.timeoutMs,
    async read<Desc extends DescMessage>(input: Desc, signal: AbortSignal | undefined) {
      if (codec === undefined) {
        throw new ProtocolError("unsupported_codec", "Send the messages as one of: proto, json.");
      }
      compression.assertKnown();
      const body = await exchange.readBody(readMaxBytes, signal, envelopeHeadBytes);
      timeout.assertValid();
      return codec.decode(input, await openEnvelope(body, compression, readMaxBytes));
    },
    async answer(method, { trailer, message }, header) {
      const { body, name } = await compression.compress(await encodeMessage(codec as Codec, method.output, message));
      header.set("content-type", contentType);
      if (name !== undefined) {
        header.set(headerEncoding, name);
      }
      const envelope = closeEnvelope(body, name === undefined ? 0 : compressedFlag);
      return makeAnswer(header, envelope, setTrailerStatus(trailer, undefined));
    },
    /** The one block of headers is the trailer, too. Clients that would read it twice get each of its fields once. */
    async fail(error, metadata, trailer) {
      const header = new HeaderList();
      header.appendAll(trailer);
      setTrailerStatus(header, error);
      mergeNonProtocolHeaders(header, metadata);
      const accepted = error.metadata.get(headerAcceptEncoding);
      if (accepted !== null) {
        header.set(headerAcceptEncoding, accepted);
      }
      header.set("content-type", codec === undefined ? withoutCodec(contentType) : contentType);
      return { status: 200, header };
    },
  };
}

/** The codec that a content type names after its `+`, of which binary is the default; undefined for any other. */
function codecOf(contentType: string, json: Codec): Codec | undefined {
  const name = /^[^+;]*\+([^\s;]*)/.exec(contentType)?.[1]?.toLowerCase() ?? "proto";
  return name === "proto" ? binaryCodec : name === "json" ? json : undefined;
}

function withoutCodec(contentType: string): string {
  return contentType.slice(0, contentType.indexOf("+"));
}
