import type { DescMessage } from "@bufbuild/protobuf";
import type { ConnectError } from "@connectrpc/connect";
import { compressedFlag } from "@connectrpc/connect/protocol";
import {
  headerAcceptEncoding,
  headerEncoding,
  parseTimeout,
  setTrailerStatus,
} from "@connectrpc/connect/protocol-grpc";
import type { Exchange } from "../http/exchange.ts";
import { binaryCodec, type Codec, encodeMessage, jsonCodec } from "./codec.ts";
import { CallCompression } from "./compression.ts";
import { closeEnvelope, envelopeHeadBytes, openEnvelope } from "./envelope.ts";
import { readTimeout } from "./timeout.ts";
import type { UnaryCall, UnaryProtocol } from "./unary-protocol.ts";

/**
 * Unary calls over gRPC.
 *
 * Source: https://github.com/grpc/grpc/blob/master/doc/PROTOCOL-HTTP2.md
 */
export const grpcProtocol: UnaryProtocol = {
  name: "grpc",
  open(exchange, readMaxBytes) {
    return openEnveloped(exchange, readMaxBytes, (header, message, trailer) =>
      exchange.respond({ status: 200, header, body: message, trailer }),
    );
  },
};

/** Sends an answer: its message in an envelope, empty when the call failed, and the call's status in the trailer. */
type Send = (header: Headers, message: Uint8Array, trailer: Headers) => Promise<void>;

/** What gRPC and gRPC-Web share: all but the place of the trailer. */
export function openEnveloped(exchange: Exchange, readMaxBytes: number, send: Send): UnaryCall {
  const contentType = exchange.header("content-type") ?? "";
  const codec: Codec = /\+json\s*(;|$)/i.test(contentType) ? jsonCodec : binaryCodec;
  const timeout = readTimeout(exchange.header("grpc-timeout"), parseTimeout);
  const compression = new CallCompression(exchange, exchange.header("grpc-encoding"), headerAcceptEncoding);

  return {
    timeoutMs: timeout.timeoutMs,
    async read<Desc extends DescMessage>(input: Desc, deadline: AbortSignal | undefined) {
      const body = await exchange.readBody(readMaxBytes + envelopeHeadBytes, deadline);
      timeout.assertValid();
      return codec.decode(input, await openEnvelope(body, compression, readMaxBytes));
    },
    async answer(method, { header, trailer, message }) {
      const { body, name } = await compression.compress(await encodeMessage(codec, method.output, message));
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
    // The metadata stand in the header too, where clients look for them when a call succeeds.
    fail(error: ConnectError) {
      const header = new Headers(error.metadata);
      header.set("content-type", contentType);
      return send(header, new Uint8Array(), setTrailerStatus(new Headers(), error));
    },
  };
}
