import type { CallRecord } from "../http/call-record.ts";
import { errorStatuses } from "../interceptors/error-codes.ts";

/** In the place of a code: the client has gone away before it had the whole answer, or the answer broke off. */
const incomplete = "INCOMPLETE";

/** What came of a call, in one word: `OK`, the code of its error, or `INCOMPLETE`. There are some forty at most. */
export function outcomeOf({ code, isWhole }: CallRecord): string {
  return isWhole ? code : incomplete;
}

/** The canonical codes, as health and reflection have them, for which a service is to blame. */
const canonicalFailures = ["INTERNAL", "UNKNOWN", "DATA_LOSS", "UNAVAILABLE", "DEADLINE_EXCEEDED"];

const failures = new Set([
  ...canonicalFailures,
  ...Object.entries(errorStatuses).flatMap(([code, { http }]) => (http >= 500 ? [code] : [])),
]);

/** Whether the service is to blame for an outcome, by which it is 5xx over REST. */
export function isFailure(outcome: string): boolean {
  return failures.has(outcome);
}
