import { Code, ConnectError, type Interceptor } from "@connectrpc/connect";
import { reasonOf } from "./errors.ts";

/** What Node's transports over HTTP/2 report when the connection is lost, besides `Unavailable`. */
const lostOverHttp2: readonly Code[] = [Code.Aborted, Code.Canceled];

/**
 * Turns every failure of the network into `Unavailable`, before an answer and in the middle of a stream. `fetch` throws
 * a `TypeError`. Node's transports over HTTP/2 report `Aborted` or `Canceled`, which callers would take for a refusal
 * by the service, or for their own cancellation. It must be the innermost interceptor: a `TypeError` of another
 * interceptor is a bug.
 *
 * Source: https://fetch.spec.whatwg.org/#fetch-method
 */
export const networkErrors: Interceptor = (next) => async (request) => {
  try {
    const response = await next(request);
    return response.stream ? { ...response, message: readThrough(response.message, request) } : response;
  } catch (error) {
    throw isLost(error, request) ? unreachable(error, request) : error;
  }
};

/** What tells a lost connection from a call that its caller has cancelled. */
interface NetworkCall {
  readonly url: string;
  readonly signal: AbortSignal;
}

async function* readThrough<Message>(messages: AsyncIterable<Message>, call: NetworkCall): AsyncGenerator<Message> {
  try {
    yield* messages;
  } catch (error) {
    throw isLost(error, call) ? unreachable(error, call) : error;
  }
}

function isLost(error: unknown, { signal }: NetworkCall): error is Error {
  if (error instanceof ConnectError) {
    return lostOverHttp2.includes(error.code) && reasonOf(error) === undefined && !signal.aborted;
  }
  return error instanceof TypeError;
}

/** Node names the reason in the cause; browsers do not. */
function unreachable(error: Error, { url }: NetworkCall): ConnectError {
  const cause = error.cause instanceof Error && error.cause.message !== "" ? error.cause : error;
  const reason = error instanceof ConnectError ? error.rawMessage : cause.message;
  return new ConnectError(
    `No answer from ${new URL(url).origin}: ${reason}`,
    Code.Unavailable,
    undefined,
    undefined,
    error,
  );
}
