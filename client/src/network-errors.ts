import { Code, ConnectError, type Interceptor } from "@connectrpc/connect";

/**
 * Makes `Unavailable` of what `fetch` throws when the network fails, as it is over Connect's other transports. It has
 * to be the innermost interceptor: a `TypeError` of another one is a bug there.
 *
 * Source: https://fetch.spec.whatwg.org/#fetch-method
 */
export const networkErrors: Interceptor = (next) => async (request) => {
  try {
    return await next(request);
  } catch (error) {
    throw error instanceof TypeError ? unreachable(request.url, error) : error;
  }
};

/** Node says in the cause what browsers do not tell. */
function unreachable(url: string, error: TypeError): ConnectError {
  const reason = error.cause instanceof Error && error.cause.message !== "" ? error.cause.message : error.message;
  const message = `No answer from ${new URL(url).origin}: ${reason}`;
  return new ConnectError(message, Code.Unavailable, undefined, undefined, error);
}
