import type { DescMethod } from "@bufbuild/protobuf";
import type { ConnectError } from "@connectrpc/connect";
import { compressedFlag, mergeNonProtocolHeaders } from "@connectrpc/connect/protocol";
import { headerEncoding, headerGrpcMessage, parseTimeout, setTrailerStatus } from "@connectrpc/connect/protocol-grpc";
import { trailerFlag, trailerSerialize } from "@connectrpc/connect/protocol-grpc-web";
import { type Answer, isStream } from "../http/exchange.ts";
import { HeaderList } from "../http/header-list.ts";
import { ProtocolError } from "../http/protocol-error.ts";
import type { ProtocolCall } from "./call.ts";
import { binaryCodec, type Codec, decodeMessage, encodePrepared } from "./codec.ts";
import { CallCompression, isTooShort } from "./compression.ts";
import { closeEnvelope, readEnveloped, repeatInTrailer, streamBody } from "./envelope.ts";
import { PreparedMessage } from "./prepared-message.ts";
import { type RpcFormat, type RpcProtocol, type RpcRequest, readTimeout } from "./rpc-protocol.ts";

function trailerEnvelope(trailer: Headers): Uint8Array {
  return closeEnvelope(trailerSerialize(trailer), trailerFlag);
}

/** Where the trailer goes. The trailer of a stream is complete only when its body has ended. */
interface TrailerPlace {
  /** Makes the answer of a call. `body` is the messages in envelopes. */
  answer(header: HeaderList, body: Uint8Array | AsyncIterable<Uint8Array>, trailer: Headers): Answer;
  /** Makes the end of a stream's body from its complete trailer. Undefined if nothing follows the messages. */
  endOfStream(trailer: Headers): Uint8Array | undefined;
}

const inTrailers: TrailerPlace = {
  answer: (header, body, trailer) => ({ status: 200, header, body, trailer }),
  endOfStream: () => undefined,
};

const inBody: TrailerPlace = {
  answer: (header, body, trailer) =>
    isStream(body)
      ? { status: 200, header, body }
      : { status: 200, header, body: Buffer.concat([body, trailerEnvelope(trailer)]) },
  endOfStream: trailerEnvelope,
};

/**
 * Calls over gRPC.
 *
 * Source: https://github.com/grpc/grpc/blob/master/doc/PROTOCOL-HTTP2.md
 */
export const grpcProtocol = envelopedProtocol("grpc", inTrailers);

/**
 * Calls over gRPC-Web: gRPC, with the trailer as a last envelope of the body.
 *
 * Source: https://github.com/grpc/grpc/blob/master/doc/PROTOCOL-WEB.md
 */
export const grpcWebProtocol = envelopedProtocol("grpc-web", inBody);

/** What gRPC and gRPC-Web share: everything except their names and the place of the trailer. */
function envelopedProtocol(name: string, place: TrailerPlace): RpcProtocol {
  return { name, open: (request, method, format) => openEnveloped(request, method, { name, format, place }) };
}

/** The header that lists the compressions that a side accepts. */
const acceptHeader = "grpc-accept-encoding";

/** A protocol's name and place of the trailer, and how its messages are written. */
interface EnvelopedOptions {
  readonly name: string;
  readonly place: TrailerPlace;
  readonly format: RpcFormat;
}

function openEnveloped(
  { exchange, contentType = "" }: RpcRequest,
  { input, output }: DescMethod,
  { name, place, format }: EnvelopedOptions,
): ProtocolCall {
  const { readMaxBytes, json, toError } = format;
  const codec = codecOf(contentType, json);
  const timeout = readTimeout(exchange.header("grpc-timeout"), parseTimeout);
  const compression = new CallCompression(exchange, exchange.header("grpc-encoding"), acceptHeader);

  return {
    exchange,
    protocolName: name,
    timeoutMs: timeout.timeoutMs,
    async read(signal) {
      if (codec === undefined) {
        throw unknownCodec();
      }
      const message = await readEnveloped(exchange, { compression, maxBytes: readMaxBytes, signal });
      timeout.assertValid();
      return decodeMessage(codec, input, message, exchange);
    },
    async answer(response, header) {
      const { trailer } = response;
      if (response.stream) {
        const repeated = new HeaderList(header);
        header.set("content-type", contentType);
        const end = (error: ConnectError | undefined) =>
          place.endOfStream(
            setStatus(error === undefined ? trailer : repeatInTrailer(trailer, repeated, exchange), error),
          );
        const toClientError = (reason: unknown) => toError(reason, exchange);
        const body = streamBody(response.message, { output, codec: codec as Codec, toClientError, end });
        return place.answer(header, body, trailer);
      }
      header.set("content-type", contentType);
      const { message } = response;
      const encoded =
        message instanceof PreparedMessage
          ? await encodePrepared(codec as Codec, output, message)
          : (codec as Codec).encode(output, message);
      const compressed = isTooShort(encoded) ? undefined : await compression.compress(encoded);
      if (compressed !== undefined) {
        header.set(headerEncoding, compressed.name);
      }
      const envelope = closeEnvelope(compressed?.body ?? encoded, compressed === undefined ? 0 : compressedFlag);
      return place.answer(header, envelope, setStatus(trailer, undefined));
    },
    async fail(error, metadata, trailer) {
      const header = trailersOnly(error, metadata, trailer);
      header.set("content-type", codec === undefined ? withoutCodec(contentType) : contentType);
      return { status: isMethodNotAllowed(error) ? 405 : 200, header };
    },
  };
}

/** Throws if a content type of gRPC or gRPC-Web names a codec that is unknown. */
export function assertKnownCodec(contentType: string): void {
  if (!["proto", "json"].includes(codecName(contentType))) {
    throw unknownCodec();
  }
}

function unknownCodec(): ProtocolError {
  return new ProtocolError("unsupported_codec", "Send the messages as one of: proto, json.");
}

/** A Trailers-Only response has each field once, because its one block of headers is the trailer, too. */
function trailersOnly(error: ConnectError, metadata: HeaderList, trailer: Headers): HeaderList {
  const header = new HeaderList();
  header.appendAll(trailer);
  setStatus(header, error);
  mergeNonProtocolHeaders(header, metadata);
  const accepted = error.metadata.get(acceptHeader);
  if (accepted !== null) {
    header.set(acceptHeader, accepted);
  }
  return header;
}

/** Whether the request was no POST, and so no call of gRPC. grpc-go and Connect answer it with 405, too. */
function isMethodNotAllowed(error: ConnectError): boolean {
  return error instanceof ProtocolError && error.kind === "method_not_allowed";
}

/**
 * The codec that a content type names after its `+`. It is binary if there is no name, and undefined for an unknown
 * name.
 */
function codecOf(contentType: string, json: Codec): Codec | undefined {
  const name = codecName(contentType);
  return name === "proto" ? binaryCodec : name === "json" ? json : undefined;
}

function codecName(contentType: string): string {
  return /^[^+;]*\+([^\s;]*)/.exec(contentType)?.[1]?.toLowerCase() ?? "proto";
}

/** Sets the status of a call. Connect's function encodes commas, too, which many clients do not decode. */
function setStatus(target: Headers, error: ConnectError | undefined): Headers {
  setTrailerStatus(target, error);
  if (error !== undefined) {
    target.set(headerGrpcMessage, percentEncoded(error.rawMessage));
  }
  return target;
}

/**
 * Encodes what gRPC does not allow in a message, and a space at either end, which HTTP would drop.
 * Source: https://github.com/grpc/grpc/blob/master/doc/PROTOCOL-HTTP2.md, Percent-Encoded
 */
function percentEncoded(message: string): string {
  return message.replaceAll(/^ | $|[^\x20-\x24\x26-\x7e]+/g, encodeURIComponent);
}

function withoutCodec(contentType: string): string {
  return contentType.slice(0, contentType.indexOf("+"));
}
