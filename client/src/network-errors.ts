import { Code, ConnectError, type Interceptor } from "@connectrpc/connect";

/**
 * Turns what `fetch` throws when the network fails into `Unavailable`, as Connect's other transports do. It must be the
 * innermost interceptor: a `TypeError` of another interceptor is a bug.
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

/** Node names the reason in the cause; browsers do not. */
function unreachable(url: string, error: TypeError): ConnectError {
  const reason = error.cause instanceof Error && error.cause.message !== "" ? error.cause.message : error.message;
  const message = `No answer from ${new URL(url).origin}: ${reason}`;
  return new ConnectError(message, Code.Unavailable, undefined, undefined, error);
}
