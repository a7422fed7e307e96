import type { DescMessage } from "@bufbuild/protobuf";
import type { ConnectError } from "@connectrpc/connect";
import { compressedFlag, mergeNonProtocolHeaders } from "@connectrpc/connect/protocol";
import { bodyTooLarge } from "../http/body.ts";
import { type Exchange, requestIdHeader } from "../http/exchange.ts";
import { ProtocolError } from "../http/protocol-error.ts";
import type { StreamCallResponse } from "./call.ts";
import type { Codec } from "./codec.ts";
import type { CallCompression } from "./compression.ts";
import { encodeItem } from "./prepared-message.ts";

/** The size of an envelope's head, in bytes: a byte of flags, and the message's length as a big-endian uint32. */
const envelopeHeadBytes = 5;

/** How the body of a request with one enveloped message is read. */
interface EnvelopeReading {
  readonly compression: CallCompression;
  /** The size of the largest message, in bytes, after decompression. */
  readonly maxBytes: number;
  readonly signal: AbortSignal | undefined;
}

/** Reads the one message of a request. Throws what `openEnvelope` throws, `request_timeout`, or the signal's reason. */
export async function readEnveloped(exchange: Exchange, reading: EnvelopeReading): Promise<Uint8Array> {
  const { compression, maxBytes, signal } = reading;
  compression.assertBodyUncoded();
  compression.assertKnown();
  const { message, isCompressed } = openEnvelope(
    await exchange.readBody(maxBytes, signal, envelopeHeadBytes),
    maxBytes,
  );
  if (!isCompressed) {
    return message;
  }
  if (compression.isIdentity) {
    throw unnamedCompression();
  }
  return await compression.decompress(message, maxBytes);
}

/**
 * Finds the only message in a body of envelopes. Throws `cardinality` if there is none or more than one, `malformed` if
 * it is cut off or has unknown flags, and `body_too_large` if it is longer than `maxBytes`.
 *
 * Source: https://github.com/grpc/grpc/blob/master/doc/PROTOCOL-HTTP2.md, Length-Prefixed-Message
 */
export function openEnvelope(body: Uint8Array, maxBytes: number) {
  if (body.length === 0) {
    throw new ProtocolError("cardinality", "The request holds no message. Send one message with its length before it.");
  }
  if (body.length < envelopeHeadBytes) {
    throw incomplete();
  }
  const view = new DataView(body.buffer, body.byteOffset, envelopeHeadBytes);
  const length = view.getUint32(1);
  if (length > maxBytes) {
    throw bodyTooLarge(maxBytes);
  }
  const rest = body.length - envelopeHeadBytes - length;
  if (rest < 0 || (rest > 0 && rest < envelopeHeadBytes)) {
    throw incomplete();
  }
  if (rest > 0) {
    throw new ProtocolError("cardinality", "The request holds more than one message. Send one message alone.");
  }
  const flags = view.getUint8(0);
  if (flags !== 0 && flags !== compressedFlag) {
    throw new ProtocolError("malformed", "The request's message has flags that are not known here.");
  }
  return { message: body.subarray(envelopeHeadBytes), isCompressed: flags === compressedFlag };
}

function incomplete(): ProtocolError {
  return new ProtocolError("malformed", "The request's message is cut off. Send it whole, with its length before it.");
}

/** A message is marked as compressed, and no compression is named. */
function unnamedCompression(): ProtocolError {
  return new ProtocolError(
    "unnamed_compression",
    "The request's message is marked as compressed, but its headers name no compression.",
  );
}

/**
 * For streams whose headers name no compression: passes the envelopes on, and refuses the first one that is compressed.
 * Connect would refuse it, too, but with the error of a message that cannot be decoded. Throws `unnamed_compression`.
 */
export async function* refuseCompressed(body: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  /** How many bytes of the present envelope's head have come, and the length that they say so far. */
  let headBytes = 0;
  let length = 0;
  /** How many bytes of its message are still to come. */
  let left = 0;
  for await (const chunk of body) {
    let at = 0;
    while (at < chunk.length) {
      if (left > 0) {
        const skipped = Math.min(left, chunk.length - at);
        left -= skipped;
        at += skipped;
        continue;
      }
      const byte = chunk[at] as number;
      if (headBytes === 0 && (byte & compressedFlag) !== 0) {
        yield chunk.subarray(0, at);
        throw unnamedCompression();
      }
      length = headBytes === 0 ? 0 : length * 256 + byte;
      headBytes = (headBytes + 1) % envelopeHeadBytes;
      left = headBytes === 0 ? length : 0;
      at += 1;
    }
    yield chunk;
  }
}

/** Puts a message into an envelope. */
export function closeEnvelope(message: string | Uint8Array, flags: number): Uint8Array {
  const bytes = typeof message === "string" ? Buffer.from(message) : message;
  const envelope = Buffer.allocUnsafe(envelopeHeadBytes + bytes.length);
  envelope.writeUInt8(flags);
  envelope.writeUInt32BE(bytes.length, 1);
  envelope.set(bytes, envelopeHeadBytes);
  return envelope;
}

/**
 * Adds the headers of an answer, and the id of its request, to the trailer of a stream that has failed: many clients show
 * only the trailer of a failed call. Returns the trailer.
 */
export function repeatInTrailer(trailer: Headers, header: Headers, { requestId }: Exchange): Headers {
  mergeNonProtocolHeaders(trailer, header);
  trailer.append(requestIdHeader, requestId);
  return trailer;
}

/** How a stream is written over Connect, gRPC and gRPC-Web. */
interface EnvelopeFormat {
  readonly output: DescMessage;
  readonly codec: Codec;
  /** Converts the failure of a stream to the error that clients see. */
  readonly toClientError: (reason: unknown) => ConnectError;
  /**
   * Is called when the stream has ended, with the error if it failed. Returns the last bytes of the body, if there are
   * any.
   */
  readonly end: (error: ConnectError | undefined) => Uint8Array | undefined;
}

/** The body of a streaming answer: each message in an envelope, uncompressed, then the protocol's own end. */
export async function* streamBody(
  messages: StreamCallResponse["message"],
  { output, codec, toClientError, end }: EnvelopeFormat,
): AsyncGenerator<Uint8Array> {
  let error: ConnectError | undefined;
  try {
    for await (const item of messages) {
      yield encodeItem(item, codec, (message) => closeEnvelope(codec.encode(output, message), 0));
    }
  } catch (reason) {
    error = toClientError(reason);
  }
  const last = end(error);
  if (last !== undefined) {
    yield last;
  }
}
