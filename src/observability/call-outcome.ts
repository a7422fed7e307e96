import type { CallRecord } from "../http/call-record.ts";
import { errorStatuses } from "../interceptors/error-codes.ts";

/** The outcome of a call whose client went away before it had the whole answer, or whose answer broke off. */
const incomplete = "INCOMPLETE";

/** The outcome of a call: `OK`, the code of its error, or `INCOMPLETE`. There are at most some forty. */
export function outcomeOf({ code, isWhole }: CallRecord): string {
  return isWhole ? code : incomplete;
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

/** Whether the service is to blame for the outcome of a call: over REST, whether it is 5xx. */
export function isFailure(record: CallRecord): boolean {
  const outcome = outcomeOf(record);
  return failures.has(outcome) && !(outcome === "DEADLINE_EXCEEDED" && isClientsDeadline(record));
}

/** Whether a deadline was too short for any answer, passed before the request was complete, or ended a stream. */
function isClientsDeadline({ isStream, isBodyLate, durationMs }: CallRecord): boolean {
  return isStream || isBodyLate || durationMs < shortestDeadlineMs;
}
