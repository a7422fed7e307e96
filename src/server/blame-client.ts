import { Code, ConnectError, type Interceptor } from "@connectrpc/connect";

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
    const error = ConnectError.from(reason);
    throw error.code === Code.Internal
      ? new ConnectError(
          "The request holds a message that cannot be decoded. Check its encoding.",
          Code.InvalidArgument,
        )
      : error;
  }
}
