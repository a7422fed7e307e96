import type { Queryable } from "../connection/connection.ts";
import { lockHead } from "../writer/gather.ts";

/**
 * Writes the gathered pets' stock, and a change of the history for each pet whose quantity or status is written, in the
 * order of their ids, under the lock of the head. Each statement works on a whole set of rows, because an import may be
 * of a million pets.
 */
export async function mergeStock(connection: Queryable, nowMs: number): Promise<void> {
  const { revision: head } = await lockHead(connection);
  await connection.query(
    `INSERT INTO changes (revision, pet_id, before, after, kind, occurred_at_ms)
     SELECT $1 + row_number() OVER (ORDER BY id), id, stock.quantity, coalesce(staged.quantity, stock.quantity),
       'import', $2
     FROM staged_pets AS staged LEFT JOIN stock ON pet_id = id
     WHERE staged.quantity IS NOT NULL OR staged.status IS NOT NULL
     ORDER BY id`,
    head,
    BigInt(nowMs),
  );
  await connection.query(
    `UPDATE stock SET quantity = changes.after, revision = changes.revision,
       status = coalesce(staged.status, stock.status)
     FROM changes JOIN staged_pets AS staged ON id = changes.pet_id
     WHERE changes.revision > $1 AND changes.before IS NOT NULL AND stock.pet_id = changes.pet_id`,
    head,
  );
  // Only a new pet has had no stock before.
  await connection.query(
    `INSERT INTO stock (pet_id, quantity, revision, status)
     SELECT pet_id, after, revision, status FROM changes JOIN staged_pets ON id = pet_id
     WHERE revision > $1 AND before IS NULL ORDER BY pet_id`,
    head,
  );
  await connection.query(
    `UPDATE head SET revision = greatest(revision, (SELECT coalesce(max(revision), 0) FROM changes))`,
  );
}
