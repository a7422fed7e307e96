import { Code, ConnectError, type Interceptor } from "@connectrpc/connect";
import type { ErrorCode } from "../domain/errors.ts";
import { errorInfo } from "../interceptors/error-details.ts";

/**
 * What cannot be read of a stream is the client's fault. Connect calls it internal, and says in its decoder's words
 * what is wrong.
 */
export const blameClient: Interceptor = (next) => (request) =>
  next(request.stream ? { ...request, message: decodable(request.message) } : request);

async function* decodable<T>(messages: AsyncIterable<T>): AsyncGenerator<T> {
  try {
    yield* messages;
  } catch (reason) {
    throw toClientFault(ConnectError.from(reason));
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
