import { isReplay } from "../../domain/idempotency.ts";
import type { WriteContext, Written } from "../../domain/store.ts";
import { parseResult, writeResult } from "../rows.ts";
import type { Connection } from "./connection.ts";

interface RecordRow {
  readonly fingerprint: string;
  readonly result: string;
  readonly created_at_ms: bigint;
}

/**
 * Does a write once. If it was done before under the same idempotency key, returns the result of that time. An error of
 * `work` is not remembered. Throws `IDEMPOTENCY_KEY_REUSED`. To be called in a transaction.
 */
export function runIdempotently<T>(connection: Connection, context: WriteContext, work: () => T): Written<T> {
  const remembered = recall<T>(connection, context);
  if (remembered !== undefined) {
    return { value: remembered, isReplayed: true };
  }
  const value = work();
  remember(connection, context, value);
  return { value, isReplayed: false };
}

/**
 * Returns the remembered result of a write; undefined where it was not done before. Throws `IDEMPOTENCY_KEY_REUSED`.
 */
export function recall<T>(connection: Connection, { keyId, nowMs, idempotency }: WriteContext): T | undefined {
  if (idempotency === undefined) {
    return undefined;
  }
  const row = connection.get<RecordRow>(
    `SELECT lower(hex(fingerprint)) AS fingerprint, result, created_at_ms
     FROM idempotency_records WHERE key_id = ? AND idempotency_key = ?`,
    keyId,
    idempotency.key,
  );
  const record = row && { fingerprint: row.fingerprint, createdAtMs: Number(row.created_at_ms) };
  return row && record && isReplay(record, idempotency, nowMs) ? parseResult(row.result) : undefined;
}

/** Remembers the result of a write. To be called in the transaction that makes it. */
export function remember(connection: Connection, { keyId, nowMs, idempotency }: WriteContext, result: unknown): void {
  if (idempotency !== undefined) {
    // An expired record may still be there.
    connection.run(
      `INSERT OR REPLACE INTO idempotency_records (key_id, idempotency_key, fingerprint, result, created_at_ms)
       VALUES (?, ?, unhex(?), ?, ?)`,
      keyId,
      idempotency.key,
      idempotency.fingerprint,
      writeResult(result),
      BigInt(nowMs),
    );
  }
}
