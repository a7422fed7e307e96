import type { Connection } from "./connection.ts";
import type { StoredStock } from "./stock.ts";

/*
 * A hold is over at its expiry, whether it has been noted or not. What has once been judged to be over is noted, so
 * that it stays over when a clock is set back.
 */

/**
 * Notes which holds of a pet are over, and returns what the others hold. Takes as long as there are holds to note, and
 * not longer the more there are. To be called in a transaction.
 */
export function noteExpiredOf(connection: Connection, { petId, held }: StoredStock, nowMs: number): bigint {
  const over = held === 0n ? 0n : sumExpired(connection, petId, nowMs);
  if (over === 0n) {
    return held;
  }
  connection.run(
    `UPDATE holds SET state = 'expired', ended_at_ms = expires_at_ms
     WHERE pet_id = ? AND state = 'held' AND expires_at_ms <= ?`,
    petId,
    BigInt(nowMs),
  );
  connection.run(`UPDATE stock SET held = ? WHERE pet_id = ?`, held - over, petId);
  return held - over;
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
    connection.run(`UPDATE holds SET state = 'expired', ended_at_ms = expires_at_ms WHERE position = ?`, position);
    connection.run(`UPDATE stock SET held = held - ? WHERE pet_id = ?`, quantity, petId);
  }
  return over.length;
}
