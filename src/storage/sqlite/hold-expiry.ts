import type { ListedHold } from "../../domain/store/stock-store.ts";
import type { HoldQuestion } from "../stored-stock.ts";
import type { Connection } from "./connection.ts";
import type { StoredStock } from "./stock.ts";

/*
 * A hold is over at its expiry, whether it has been noted or not. What was found to be over once is noted, so that
 * it stays over when a clock is set back.
 */

/** What is held of a pet, and what no longer is. */
interface StillHeld {
  /** What the holds hold that are not over. */
  readonly held: bigint;
  /** What those holds had held that were noted to be over. The stock says that so much less is held. */
  readonly noted: bigint;
}

/** So many holds are noted in one step: a few milliseconds' worth. */
const notedPerStep = 500;

/**
 * Finds what is held of a pet. Notes the oldest of the holds that are over, in one step, and goes on only as long as the
 * answer to the question rests on them: otherwise whoever lets many holds expire at once would keep all writers waiting.
 * To be called in a transaction.
 */
export function findStillHeld(
  connection: Connection,
  { petId, held }: StoredStock,
  { nowMs, heldAtMost }: HoldQuestion,
): StillHeld {
  const over = held === 0n ? 0n : sumExpired(connection, petId, nowMs);
  const isGranted = held - over <= heldAtMost;
  let left = over;
  while (left > 0n && (left === over || (isGranted && held - over + left > heldAtMost))) {
    left -= noteOldest(connection, petId, nowMs);
  }
  if (left < over) {
    connection.run(`UPDATE stock SET held = held - ? WHERE pet_id = ?`, over - left, petId);
  }
  return { held: held - over, noted: over - left };
}

/** Returns what the holds that were noted have held. */
function noteOldest(connection: Connection, petId: bigint, nowMs: number): bigint {
  const noted = connection.all<{ readonly quantity: bigint }>(
    `UPDATE holds SET state = 'expired', ended_at_ms = expires_at_ms
     WHERE position IN (
       SELECT position FROM holds WHERE pet_id = ? AND state = 'held' AND expires_at_ms <= ?
       ORDER BY expires_at_ms LIMIT ${notedPerStep})
     RETURNING quantity`,
    petId,
    BigInt(nowMs),
  );
  return noted.reduce((sum, { quantity }) => sum + quantity, 0n);
}

/** What the holds of a pet that are over, and have not been noted to be, hold together. */
export function sumExpired(connection: Connection, petId: bigint, nowMs: number): bigint {
  const row = connection.get<{ readonly sum: bigint }>(
    `SELECT ifnull(sum(quantity), 0) AS sum FROM holds WHERE pet_id = ? AND state = 'held' AND expires_at_ms <= ?`,
    petId,
    BigInt(nowMs),
  );
  return row?.sum ?? 0n;
}

/**
 * Notes which holds are over, of all pets, the oldest of them first, at most `limit`. Returns how many it has noted. To
 * be called in a transaction.
 */
export function noteExpired(connection: Connection, nowMs: number, limit: number): number {
  const over = connection.all<{ readonly position: bigint; readonly pet_id: bigint; readonly quantity: bigint }>(
    `SELECT position, pet_id, quantity FROM holds
     WHERE state = 'held' AND expires_at_ms <= ? ORDER BY expires_at_ms LIMIT ?`,
    BigInt(nowMs),
    BigInt(limit),
  );
  for (const { position, pet_id: petId, quantity } of over) {
    noteExpiredHold(connection, { position, petId, quantity });
  }
  return over.length;
}

/** Notes that one hold is over. To be called in a transaction. */
export function noteExpiredHold(
  connection: Connection,
  { position, petId, quantity }: Pick<ListedHold, "position" | "petId" | "quantity">,
): void {
  connection.run(`UPDATE holds SET state = 'expired', ended_at_ms = expires_at_ms WHERE position = ?`, position);
  connection.run(`UPDATE stock SET held = held - ? WHERE pet_id = ?`, quantity, petId);
}
