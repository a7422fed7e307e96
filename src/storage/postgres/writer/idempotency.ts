import { isReplay } from "../../../domain/idempotency.ts";
import type { WriteContext, Written } from "../../../domain/store/stock-store.ts";
import { parseResult, writeResult } from "../../rows.ts";
import type { WorkingSet } from "./working-set.ts";

/**
 * Does a write once: where it was done before under the same idempotency key, returns what was the result then. What
 * `work` throws is not remembered. Throws `IDEMPOTENCY_KEY_REUSED`.
 */
export function doOnce<T>(set: WorkingSet, { keyId, nowMs, idempotency }: WriteContext, work: () => T): Written<T> {
  if (idempotency === undefined) {
    return { value: work(), isReplayed: false };
  }
  const record = set.recordOf(keyId, idempotency.key);
  if (record !== undefined && isReplay(record, idempotency, nowMs)) {
    return { value: parseResult(record.result), isReplayed: true };
  }
  const value = work();
  const { key, fingerprint } = idempotency;
  set.remember({ keyId, key, fingerprint, result: writeResult(value), createdAtMs: nowMs });
  return { value, isReplayed: false };
}
