import type { Logger } from "pino";
import type { CallObserver } from "./call-observer.ts";
import { isFailure, outcomeOf } from "./call-outcome.ts";

/** A call that takes as long is worth a line though it succeeds, in milliseconds. */
const slowMs = 1_000;

/**
 * Logs calls, one line each, when they have ended: at `warn` those that the service has failed, at `info` those that
 * took more than a second, and all others at `debug`. A line holds neither keys nor bodies, nor anything else that a
 * client has sent but the id of its request. `traceId` tells the trace that is under way, where there is one.
 */
export function createCallLog(logger: Logger, traceId: () => string | undefined): CallObserver {
  return {
    ended({ record, requestId, clientAddress }) {
      const { durationMs } = record;
      const code = outcomeOf(record);
      const level = isFailure(code) ? "warn" : durationMs > slowMs ? "info" : "debug";
      if (logger.isLevelEnabled(level)) {
        const { protocol, method, status, caller, requestBytes, responseBytes } = record;
        const call = { requestId, traceId: traceId(), protocol, method, code, status, keyId: caller, clientAddress };
        logger[level]({ ...call, durationMs: round(durationMs), requestBytes, responseBytes }, "call");
      }
    },
  };
}

/** To a microsecond. */
function round(ms: number): number {
  return Math.round(ms * 1_000) / 1_000;
}
