import type { Connection } from "../connection.ts";
import { headOf } from "../history-bounds.ts";
import { changesPerMark } from "../stock-writes.ts";
import { applyAll, markApplied } from "../unapplied-changes.ts";

/**
 * Writes the gathered pets' stock, and a change of the history for each pet whose quantity or status is written, in the
 * order of their ids. Each statement works on a whole set of rows, because an import may be of a million pets.
 */
export function mergeStock(connection: Connection, nowMs: number): void {
  applyAll(connection);
  const head = headOf(connection);
  connection.run(
    `INSERT INTO changes (revision, pet_id, previous, before, after, kind, occurred_at_ms, number)
     SELECT ? + row_number() OVER (ORDER BY id), id, ifnull(stock.revision, 0), stock.quantity,
       ifnull(staged.quantity, stock.quantity), 'import', ?, ifnull(stock.changes, 0) + 1
     FROM staged_pets AS staged LEFT JOIN stock ON pet_id = id
     WHERE staged.quantity IS NOT NULL OR staged.status IS NOT NULL
     ORDER BY id`,
    head,
    BigInt(nowMs),
  );
  connection.run(
    `UPDATE stock SET quantity = changes.after, revision = changes.revision, changes = stock.changes + 1,
       status = ifnull(staged.status, stock.status)
     FROM changes CROSS JOIN staged_pets AS staged ON id = changes.pet_id
     WHERE changes.revision > ? AND stock.pet_id = changes.pet_id`,
    head,
  );
  // Only a new pet has had no stock before.
  connection.run(
    `INSERT INTO stock (pet_id, quantity, revision, changes, status)
     SELECT pet_id, after, revision, 1, status FROM changes CROSS JOIN staged_pets ON id = pet_id
     WHERE revision > ? AND before IS NULL ORDER BY revision`,
    head,
  );
  connection.run(
    `INSERT INTO change_marks (pet_id, revision)
     SELECT stock.pet_id, stock.revision FROM changes CROSS JOIN stock ON stock.pet_id = changes.pet_id
     WHERE changes.revision > ? AND changes % ${changesPerMark} = 0`,
    head,
  );
  markApplied(connection);
}
