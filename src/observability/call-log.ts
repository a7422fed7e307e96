import type { Logger } from "pino";
import type { CallObserver } from "./call-observer.ts";
import { isFailure, outcomeOf } from "./call-outcome.ts";
import { shownPath } from "./masking.ts";

/** A call that takes longer is logged at `info` even if it succeeds, in milliseconds. */
const slowMs = 1_000;

/**
 * Logs each call in one line when it has ended: at `warn` if the service is to blame for its failure, at `info` if it
 * took more than a second, otherwise at `debug`. Of what a client has sent, a line has only the request's id, and the
 * path if it is no RPC: neither keys nor bodies. `traceId` returns the id of the current trace, if there is one.
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

/** Rounds to a microsecond. */
function round(ms: number): number {
  return Math.round(ms * 1_000) / 1_000;
}
