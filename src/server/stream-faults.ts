import { Code, ConnectError, type Interceptor } from "@connectrpc/connect";
import { compressedFlag } from "@connectrpc/connect/protocol";
import type { ErrorCode } from "../domain/errors.ts";
import { ProtocolError } from "../http/protocol-error.ts";
import { errorInfo, toConnectError } from "../interceptors/errors.ts";
import { envelopeHeadBytes, unnamedCompression } from "../rpc/envelope.ts";

/**
 * A message of a stream that cannot be decoded is the client's fault. Connect calls it internal, and tells clients what
 * its decoder says.
 */
export const decodeErrorsAsInvalidArgument: Interceptor = (next) => async (request) =>
  await next(request.stream ? { ...request, message: mapErrors(request.message) } : request);

async function* mapErrors<T>(messages: AsyncIterable<T>): AsyncGenerator<T> {
  try {
    yield* messages;
  } catch (reason) {
    throw reason instanceof ProtocolError ? toConnectError(reason) : toClientFault(ConnectError.from(reason));
  }
}

function toClientFault(error: ConnectError): ConnectError {
  if (error.code === Code.Internal) {
    const message = "The request holds a message that cannot be decoded. Check its encoding.";
    return new ConnectError(message, Code.InvalidArgument, undefined, [errorInfo("INVALID_REQUEST")]);
  }
  const reason = reasons[error.code];
  if (reason !== undefined) {
    error.details.push(errorInfo(reason));
  }
  return error;
}

/** The reasons for what Connect's handlers find wrong with a stream of messages. */
const reasons: Partial<Record<Code, ErrorCode>> = {
  [Code.InvalidArgument]: "INVALID_REQUEST",
  [Code.Unimplemented]: "INVALID_REQUEST",
  [Code.ResourceExhausted]: "BODY_TOO_LARGE",
};

/**
 * Passes a stream of envelopes on up to the first one that is compressed, which it refuses: for streams whose headers
 * name no compression. Connect refuses it, too, but by an error that looks the same as for a message that cannot be
 * decoded. Throws `unnamed_compression`.
 */
export async function* refuseCompressed(body: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  /** How many bytes of the present envelope's head have come, and what they say of its length. */
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
