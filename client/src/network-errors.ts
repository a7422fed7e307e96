import { Code, ConnectError, type Interceptor } from "@connectrpc/connect";

/**
 * Turns what `fetch` throws when the network fails into `Unavailable`, as Connect's other transports do: before an answer,
 * and in the middle of a stream. It must be the innermost interceptor: a `TypeError` of another interceptor is a bug.
 *
 * Source: https://fetch.spec.whatwg.org/#fetch-method
 */
export const networkErrors: Interceptor = (next) => async (request) => {
  try {
    const response = await next(request);
    return response.stream ? { ...response, message: readThrough(response.message, request.url) } : response;
  } catch (error) {
    throw asUnreachable(error, request.url);
  }
};

async function* readThrough<Message>(messages: AsyncIterable<Message>, url: string): AsyncGenerator<Message> {
  try {
    yield* messages;
  } catch (error) {
    throw asUnreachable(error, url);
  }
}

/** Node names the reason in the cause; browsers do not. */
function asUnreachable(error: unknown, url: string): unknown {
  if (!(error instanceof TypeError)) {
    return error;
  }
  const reason = error.cause instanceof Error && error.cause.message !== "" ? error.cause.message : error.message;
  const message = `No answer from ${new URL(url).origin}: ${reason}`;
  return new ConnectError(message, Code.Unavailable, undefined, undefined, error);
}
