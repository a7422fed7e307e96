import { Code, ConnectError } from "@connectrpc/connect";

/** The longest that timers of JavaScript take, in milliseconds: 24 days. The service shortens timeouts to it, too. */
const longestMs = 2 ** 31 - 1;

/**
 * The `timeoutMs` of a call as transports, headers and timers take it: whole, and no longer than they can wait. Throws
 * `DeadlineExceeded` where it leaves no time, and `InvalidArgument` where it is no number, as JavaScript may give it.
 */
export function toWholeTimeout(timeoutMs: number | undefined): number | undefined {
  if (timeoutMs === undefined) {
    return undefined;
  }
  if (typeof timeoutMs !== "number" || Number.isNaN(timeoutMs)) {
    throw new ConnectError("timeoutMs: give a number of milliseconds.", Code.InvalidArgument);
  }
  if (timeoutMs <= 0) {
    throw new ConnectError("timeoutMs: it leaves no time for the call.", Code.DeadlineExceeded);
  }
  return Math.min(Math.ceil(timeoutMs), longestMs);
}
