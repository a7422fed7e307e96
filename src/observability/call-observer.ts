import type { Logger } from "pino";
import { shownPath } from "../domain/masking.ts";
import type { CallRecord } from "../http/exchange.ts";
import { errorStatuses } from "../interceptors/errors.ts";
import { throttleAndCount } from "../scheduling/timing.ts";

/** A call that has ended: it was answered, or its client went away. */
export interface EndedCall {
  readonly record: CallRecord;
  readonly requestId: string;
  /** The path as the client sent it, without its query; `*` if it was no HTTP. Show it by `shownPath`. */
  readonly path: string;
  readonly clientAddress: string;
}

/** Is told once of each call of every protocol, when it has ended. It must not throw. */
export interface CallObserver {
  ended(call: EndedCall): void;
}

/** How a call has ended. */
interface Outcome {
  /**
   * `OK`, the code of its error, or `INCOMPLETE`: its client went away before it had the whole answer, or the answer
   * broke off. There are at most some forty.
   */
  readonly code: string;
  /** Whether the service is to blame: over REST, whether it is 5xx. */
  readonly isFailure: boolean;
}

/** Is told of a call that has ended, and how it has ended. */
export type CallListener = (call: EndedCall, outcome: Outcome) => void;

/** Records how long a call took, and tells listeners, one after the other. */
export function createCallObserver(listeners: readonly CallListener[]): CallObserver {
  return {
    ended(call) {
      const { record } = call;
      record.durationMs = performance.now() - record.startedAtMs;
      const outcome = outcomeOf(record);
      for (const listener of listeners) {
        listener(call, outcome);
      }
    },
  };
}

/**
 * In milliseconds. No client can expect a shorter deadline to be met over a network: it is the client's own choice, and
 * no fault of the service.
 */
const shortestDeadlineMs = 100;

/** The canonical codes, which health and reflection use, for which a service is to blame. */
const canonicalFailures = ["INTERNAL", "UNKNOWN", "DATA_LOSS", "UNAVAILABLE", "DEADLINE_EXCEEDED"];

const failures = new Set([
  ...canonicalFailures,
  ...Object.entries(errorStatuses).flatMap(([code, { http }]) => (http >= 500 ? [code] : [])),
]);

/** The outcome of a call whose duration has been recorded. */
export function outcomeOf(record: CallRecord): Outcome {
  const code = record.isWhole || record.isBrokenOff ? record.code : "INCOMPLETE";
  const isExpected = record.isStopped || (code === "DEADLINE_EXCEEDED" && isClientsDeadline(record));
  const isFailure = failures.has(code) && !isExpected;
  return { code, isFailure };
}

/** Whether a deadline was too short for any answer, passed before the request was complete, or ended a stream. */
function isClientsDeadline({ isStream, isBodyLate, durationMs }: CallRecord): boolean {
  return isStream || isBodyLate || durationMs < shortestDeadlineMs;
}

/** A call that takes longer is logged at `info` even if it succeeds, in milliseconds. */
const slowMs = 1_000;

/**
 * Logs each call in one line when it has ended: at `warn` if the service is to blame for its failure, at `info` if it
 * took more than a second and is no stream, otherwise at `debug`. Of what a client has sent, a line has only the
 * request's id, and the path if it is no RPC: neither keys nor bodies. `traceId` returns the id of the current trace, if
 * there is one.
 *
 * While calls fail with `UNAVAILABLE`, only one line in ten seconds tells of them: `unlogged` counts the others.
 */
export function createCallLog(logger: Logger, traceId: () => string | undefined): CallLog {
  const logFailure = (line: { readonly code: string }, others: number) =>
    logger.warn(others === 0 ? line : { ...line, unlogged: others }, "call");
  const unavailable = throttleAndCount(({ code }) => code, logFailure);
  const ended: CallListener = (call, { code, isFailure }) => {
    const { durationMs, isStream } = call.record;
    const level = isFailure ? "warn" : durationMs > slowMs && !isStream ? "info" : "debug";
    // Most calls are not logged, so the rest is read only for those that are.
    if (logger.isLevelEnabled(level)) {
      const { requestId, clientAddress, path } = call;
      const { protocol, method, status, keyId, requestBytes, responseBytes } = call.record;
      const shown = isRpc(method) ? undefined : shownPath(path);
      const who = { keyId, clientAddress };
      const what = { requestId, traceId: traceId(), protocol, method, path: shown, code, status, ...who };
      const line = { ...what, durationMs: round(durationMs), requestBytes, responseBytes };
      if (isFailure && code === "UNAVAILABLE") {
        unavailable.take(line);
      } else {
        logger[level](line, "call");
      }
    }
  };
  return { ended, flush: unavailable.flush };
}

/** The log of calls. */
export interface CallLog {
  readonly ended: CallListener;
  /** Logs what is held back. */
  readonly flush: () => void;
}

function isRpc(method: string | undefined): boolean {
  return method?.includes("/") === true;
}

/** Rounds to a microsecond. */
function round(ms: number): number {
  return Math.round(ms * 1_000) / 1_000;
}
