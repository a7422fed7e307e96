import { idempotencyMs } from "../../domain/idempotency.ts";
import { lesserOf } from "../../domain/ranges.ts";
import type { Connection, Queryable } from "./connection/connection.ts";
import { firstKeptMs, historyBounds } from "./history.ts";
import { housekeepingLock } from "./locks.ts";
import { lockHead } from "./writer/gather.ts";

/** The most rows of a kind that one step deletes: twice what a batch may write. */
const rowsPerStep = 2_000n;

/** Whether `deleteOutdated` has anything to do. */
export async function hasOutdated(connection: Queryable, keptSinceMs: number, nowMs: number): Promise<boolean> {
  const [row] = await connection.query<{ found: boolean; kept_oldest: bigint }>(
    `SELECT EXISTS (SELECT 1 FROM holds WHERE state = 'held' AND expires_at_ms <= $1)
       OR EXISTS (SELECT 1 FROM holds WHERE ended_at_ms < $2)
       OR EXISTS (SELECT 1 FROM idempotency_records WHERE created_at_ms <= $3) AS found,
       coalesce((SELECT min(revision) FROM changes), 1) AS kept_oldest`,
    BigInt(nowMs),
    firstKeptMs(keptSinceMs),
    BigInt(nowMs - idempotencyMs),
  );
  return row?.found === true || (await firstToKeep(connection, keptSinceMs)) > (row?.kept_oldest ?? 1n);
}

/**
 * See `StockStore.deleteOutdated`. Notes which holds have expired, too, so that these are deleted when it is time. To be
 * called in a transaction.
 */
export async function deleteOutdated(connection: Connection, keptSinceMs: number, nowMs: number): Promise<boolean> {
  const [lock] = await connection.query<{ taken: boolean }>(
    `SELECT pg_try_advisory_xact_lock($1) AS taken`,
    housekeepingLock,
  );
  if (lock?.taken !== true) {
    // Another server is at it. If all were, the writers would always wait for one of them.
    return false;
  }
  await lockHead(connection);
  await noteExpired(connection, nowMs);
  await connection.query(
    `DELETE FROM holds WHERE position IN (SELECT position FROM holds WHERE ended_at_ms < $1 ORDER BY ended_at_ms LIMIT $2)`,
    firstKeptMs(keptSinceMs),
    rowsPerStep,
  );
  await connection.query(
    `DELETE FROM idempotency_records WHERE (key_id, idempotency_key) IN (
       SELECT key_id, idempotency_key FROM idempotency_records WHERE created_at_ms <= $1 ORDER BY created_at_ms LIMIT $2)`,
    BigInt(nowMs - idempotencyMs),
    rowsPerStep,
  );
  await connection.query(
    `DELETE FROM changes WHERE revision < $1
       AND revision < coalesce((SELECT min(revision) FROM changes), 1) + $2`,
    await firstToKeep(connection, keptSinceMs),
    rowsPerStep,
  );
  return hasOutdated(connection, keptSinceMs, nowMs);
}

async function noteExpired(connection: Queryable, nowMs: number): Promise<void> {
  await connection.query(
    `WITH noted AS (
       UPDATE holds SET state = 'expired', ended_at_ms = expires_at_ms
       WHERE position IN (
         SELECT position FROM holds WHERE state = 'held' AND expires_at_ms <= $1 ORDER BY expires_at_ms LIMIT $2)
       RETURNING pet_id, quantity
     )
     UPDATE stock SET held = held - sum
     FROM (SELECT pet_id, sum(quantity)::bigint AS sum FROM noted GROUP BY pet_id) AS over
     WHERE stock.pet_id = over.pet_id`,
    BigInt(nowMs),
    rowsPerStep,
  );
}

/** The newest change is kept for ever, as in every backend. */
async function firstToKeep(connection: Queryable, keptSinceMs: number): Promise<bigint> {
  const { oldest, head } = await historyBounds(connection, keptSinceMs);
  return lesserOf(oldest, head);
}
