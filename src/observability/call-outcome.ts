import type { CallRecord } from "../http/call-record.ts";
import { errorStatuses } from "../interceptors/error-codes.ts";

/** In the place of a code: the client has gone away before it had the whole answer, or the answer broke off. */
const incomplete = "INCOMPLETE";

/** What came of a call, in one word: `OK`, the code of its error, or `INCOMPLETE`. There are some forty at most. */
export function outcomeOf({ code, isWhole }: CallRecord): string {
  return isWhole ? code : incomplete;
}

/**
 * A deadline that passes sooner is one that no client can expect to be met over a network, in milliseconds. It is the
 * client's own choice, and no fault of the service.
 */
const shortestDeadlineMs = 100;

/** The canonical codes, as health and reflection have them, for which a service is to blame. */
const canonicalFailures = ["INTERNAL", "UNKNOWN", "DATA_LOSS", "UNAVAILABLE", "DEADLINE_EXCEEDED"];

const failures = new Set([
  ...canonicalFailures,
  ...Object.entries(errorStatuses).flatMap(([code, { http }]) => (http >= 500 ? [code] : [])),
]);

/** Whether the service is to blame for what came of a call: that is 5xx over REST. */
export function isFailure(record: CallRecord): boolean {
  const outcome = outcomeOf(record);
  return failures.has(outcome) && !(outcome === "DEADLINE_EXCEEDED" && isClientsDeadline(record));
}

/** Whether a deadline was too short for any answer, passed before the request was whole, or ended a stream. */
function isClientsDeadline({ isStream, isBodyLate, durationMs }: CallRecord): boolean {
  return isStream || isBodyLate || durationMs < shortestDeadlineMs;
}
