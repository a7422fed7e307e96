import { idempotencyMs } from "../../domain/idempotency.ts";
import { lesserOf } from "../../domain/ranges.ts";
import type { Connection } from "./connection.ts";
import { appliedRevision, findOldest, headOf, oldestRevision } from "./history-bounds.ts";
import { noteExpired } from "./hold-expiry.ts";
import { applyAll } from "./unapplied-changes.ts";

/** The most rows of a kind that one step deletes: twice what a batch may write, in some 10 ms. */
const rowsPerStep = 2_000n;

/** Whether `deleteOutdated` has anything to do. To be called in a transaction. */
export function hasOutdated(connection: Connection, keptSinceMs: number, nowMs: number): boolean {
  const row = connection.get<{ found: bigint }>(
    `SELECT EXISTS (SELECT 1 FROM holds WHERE state = 'held' AND expires_at_ms <= ?)
       OR EXISTS (SELECT 1 FROM holds WHERE ended_at_ms < ?)
       OR EXISTS (SELECT 1 FROM idempotency_records WHERE created_at_ms <= ?) AS found`,
    nowMs,
    keptSinceMs,
    nowMs - idempotencyMs,
  );
  return row?.found === 1n || oldestWanted(connection, keptSinceMs) > oldestRevision(connection);
}

/** See `StockStore.deleteOutdated`. Notes which holds have expired, too, so that these are deleted when it is time. */
export function deleteOutdated(connection: Connection, keptSinceMs: number, nowMs: number): boolean {
  return connection.atomically(() => {
    noteExpired(connection, nowMs, Number(rowsPerStep));
    connection.run(
      `DELETE FROM holds WHERE position IN (SELECT position FROM holds WHERE ended_at_ms < ? ORDER BY ended_at_ms LIMIT ?)`,
      keptSinceMs,
      rowsPerStep,
    );
    connection.run(
      `DELETE FROM idempotency_records WHERE (key_id, idempotency_key) IN (
         SELECT key_id, idempotency_key FROM idempotency_records WHERE created_at_ms <= ?
         ORDER BY created_at_ms LIMIT ?)`,
      nowMs - idempotencyMs,
      rowsPerStep,
    );
    deleteChanges(connection, keptSinceMs);
    return hasOutdated(connection, keptSinceMs, nowMs);
  });
}

function deleteChanges(connection: Connection, keptSinceMs: number): void {
  const oldest = oldestRevision(connection);
  const end = lesserOf(oldestWanted(connection, keptSinceMs), oldest + rowsPerStep);
  if (end > oldest && end > appliedRevision(connection)) {
    applyAll(connection);
  }
  connection.run(
    `DELETE FROM change_marks WHERE (pet_id, revision) IN (SELECT pet_id, revision FROM changes WHERE revision < ?)`,
    end,
  );
  connection.run(`DELETE FROM changes WHERE revision < ?`, end);
}

/** The first revision to keep. The newest change is kept for ever: the next revision is counted from it. */
function oldestWanted(connection: Connection, keptSinceMs: number): bigint {
  return lesserOf(findOldest(connection, keptSinceMs), headOf(connection));
}
