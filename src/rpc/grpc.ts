import type { DescMessage } from "@bufbuild/protobuf";
import { compressedFlag } from "@connectrpc/connect/protocol";
import {
  headerAcceptEncoding,
  headerEncoding,
  parseTimeout,
  setTrailerStatus,
} from "@connectrpc/connect/protocol-grpc";
import type { Exchange } from "../http/exchange.ts";
import { HeaderList } from "../http/header-list.ts";
import { ProtocolError } from "../http/protocol-error.ts";
import { binaryCodec, type Codec, encodeMessage } from "./codec.ts";
import { CallCompression } from "./compression.ts";
import { closeEnvelope, envelopeHeadBytes, openEnvelope } from "./envelope.ts";
import { readTimeout } from "./timeout.ts";
import type { RpcFormat, UnaryCall, UnaryProtocol } from "./unary-protocol.ts";

/**
 * Unary calls over gRPC.
 *
 * Source: https://github.com/grpc/grpc/blob/master/doc/PROTOCOL-HTTP2.md
 */
export const grpcProtocol: UnaryProtocol = {
  name: "grpc",
  open(exchange, format) {
    return openEnveloped(exchange, format, (header, message, trailer) =>
      exchange.respond({ status: 200, header, body: message, trailer }),
    );
  },
};

/** Sends the answer of a call that has succeeded: its message in an envelope, and its status in the trailer. */
type Send = (header: Headers, message: Uint8Array, trailer: Headers) => Promise<void>;

/** What gRPC and gRPC-Web share: all but the place of the trailer. */
export function openEnveloped(exchange: Exchange, { readMaxBytes, json }: RpcFormat, send: Send): UnaryCall {
  const contentType = exchange.header("content-type") ?? "";
  const codec = codecOf(contentType, json);
  const timeout = readTimeout(exchange.header("grpc-timeout"), parseTimeout);
  const compression = new CallCompression(exchange, exchange.header("grpc-encoding"), headerAcceptEncoding);

  return {
    timeoutMs: timeout.timeoutMs,
    async read<Desc extends DescMessage>(input: Desc, deadline: AbortSignal | undefined) {
      if (codec === undefined) {
        throw new ProtocolError("unsupported_codec", "Send the messages as one of: proto, json.");
      }
      compression.assertKnown();
      const body = await exchange.readBody(readMaxBytes, deadline, envelopeHeadBytes);
      timeout.assertValid();
      return codec.decode(input, await openEnvelope(body, compression, readMaxBytes));
    },
    async answer(method, { header, trailer, message }) {
      const { body, name } = await compression.compress(await encodeMessage(codec as Codec, method.output, message));
      header.set("content-type", contentType);
      if (name !== undefined) {
        header.set(headerEncoding, name);
      }
      await send(
        header,
        closeEnvelope(body, name === undefined ? 0 : compressedFlag),
        setTrailerStatus(trailer, undefined),
      );
    },
    /** The one block of headers is the trailer, too. Clients that would read it twice get each of its fields once. */
    fail(error, trailer = new HeaderList()) {
      const header = setTrailerStatus(trailer, error);
      const accepted = error.metadata.get(headerAcceptEncoding);
      if (accepted !== null) {
        header.set(headerAcceptEncoding, accepted);
      }
      header.set("content-type", codec === undefined ? withoutCodec(contentType) : contentType);
      return exchange.respond({ status: 200, header });
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
