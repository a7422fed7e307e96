import type { Logger } from "pino";
import type { CallObserver } from "./call-observer.ts";
import { isFailure, outcomeOf } from "./call-outcome.ts";
import { shownPath } from "./shown-path.ts";

/** A call that takes as long is worth a line though it succeeds, in milliseconds. */
const slowMs = 1_000;

/**
 * Logs calls, one line each, when they have ended: at `warn` those that the service has failed, at `info` those that
 * took more than a second, and all others at `debug`. A line holds neither keys nor bodies, nor anything else that a
 * client has sent but the id of its request, and the path of what is no RPC. `traceId` tells the trace that is under way, where there is one.
 */
export function createCallLog(logger: Logger, traceId: () => string | undefined): CallObserver {
  return {
    ended({ record, requestId, clientAddress, path }) {
      const { durationMs } = record;
      const level = isFailure(record) ? "warn" : durationMs > slowMs ? "info" : "debug";
      if (logger.isLevelEnabled(level)) {
        const { protocol, method, status, caller, requestBytes, responseBytes } = record;
        const code = outcomeOf(record);
        const shown = isRpc(method) || path === undefined ? undefined : shownPath(path);
        const who = { keyId: caller, clientAddress };
        const call = { requestId, traceId: traceId(), protocol, method, path: shown, code, status, ...who };
        logger[level]({ ...call, durationMs: round(durationMs), requestBytes, responseBytes }, "call");
      }
    },
  };
}

function isRpc(method: string | undefined): boolean {
  return method?.includes("/") === true;
}

/** To a microsecond. */
function round(ms: number): number {
  return Math.round(ms * 1_000) / 1_000;
}
