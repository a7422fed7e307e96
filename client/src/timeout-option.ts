import { Code, ConnectError } from "@connectrpc/connect";
import { longestTimerMs } from "./timing.ts";

/**
 * The `timeoutMs` of a call as transports, headers and timers take it: whole, and no longer than they can wait. The
 * service shortens timeouts to as much, too. Throws `DeadlineExceeded` where it leaves no time, and `InvalidArgument`
 * where it is no number, as JavaScript may give it.
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
  return Math.min(Math.ceil(timeoutMs), longestTimerMs);
}
