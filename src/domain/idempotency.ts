import { idempotencyKeyReused } from "./errors.ts";

/** The identity of a write, within the API key of its caller. */
export interface Idempotency {
  readonly key: string;
  /** SHA-256 of the method and its content, in lower-case hexadecimal: the same for the same request. */
  readonly fingerprint: string;
}

/** How long an idempotency key is remembered, in milliseconds. Source: docs/contract.md#idempotency */
export const idempotencyMs = 24 * 60 * 60_000;

/** The record of the last write under an idempotency key, without its result. */
export interface IdempotencyRecord {
  readonly fingerprint: string;
  /** Milliseconds since the Unix epoch. */
  readonly createdAtMs: number;
}

/**
 * Decides on a write under an idempotency key that has a record. Returns whether the write gets the recorded result:
 * false if the record has expired. Throws `IDEMPOTENCY_KEY_REUSED`.
 */
export function isReplay(record: IdempotencyRecord, { fingerprint }: Idempotency, nowMs: number): boolean {
  if (record.createdAtMs <= nowMs - idempotencyMs) {
    return false;
  }
  if (record.fingerprint !== fingerprint) {
    throw idempotencyKeyReused();
  }
  return true;
}
