import { changesPerMark } from "../stock-writes.ts";
import type { Invariant } from "./invariants.ts";

/** The first version of the schema that has stock, holds and history. */
const since = 5;

/*
 * The oldest changes may have been deleted, with their marks, and the newest one never is. A link to a deleted change
 * leads below the oldest one that there is.
 */

/** What must hold of stock, holds and history. */
export const stockInvariants: readonly Invariant[] = [
  {
    subject: "the pets' stock",
    since,
    sql: `SELECT 'pet ' || id || ': it has no stock' AS fault FROM pets
          WHERE id NOT IN (SELECT pet_id FROM stock)
          UNION ALL
          SELECT 'pet ' || pet_id || ': it has stock, and is none of the pets' FROM stock
          WHERE pet_id NOT IN (SELECT id FROM pets)
          UNION ALL
          SELECT 'pet ' || pet_id || ': its stock must have a revision if it has changes, and only then' FROM current_stock
          WHERE NOT (revision >= changes AND changes >= 0 AND (revision = 0) = (changes = 0))
          UNION ALL
          SELECT 'pet ' || pet_id || ': its stock says that ' || held || ' are held, and its holds say ' || sum
          FROM (SELECT pet_id, held,
                  ifnull((SELECT sum(quantity) FROM holds WHERE holds.pet_id = stock.pet_id AND state = 'held'), 0) AS sum
                FROM stock)
          WHERE held <> sum`,
  },
  {
    subject: "the history",
    since,
    sql: `SELECT 'the history has no lineage of twelve hexadecimal digits' AS fault
          WHERE NOT EXISTS (SELECT 1 FROM history WHERE length(lineage) = 12 AND lineage NOT GLOB '*[^0-9a-f]*')
          UNION ALL
          SELECT 'the history has gaps between its changes ' || min(revision) || ' and ' || max(revision) FROM changes
          HAVING count(*) <> max(revision) - min(revision) + 1
          UNION ALL
          SELECT 'the history begins with change ' || min(revision) || ', and must begin with 1 at least' FROM changes
          HAVING min(revision) < 1`,
  },
  {
    subject: "the changes that the stock lacks",
    since: 7,
    sql: `SELECT 'the stock cannot have all changes up to ' || applied_revision AS fault FROM history
          WHERE applied_revision NOT BETWEEN (SELECT ifnull(min(revision), 1) FROM changes) - 1
            AND (SELECT ifnull(max(revision), 0) FROM changes)
          UNION ALL
          SELECT 'change ' || revision || ': it must have a number, because the stock may lack it' FROM changes
          WHERE revision > (SELECT applied_revision FROM history) AND number < 1`,
  },
  {
    subject: "the changes",
    since,
    // Each change beside the pet's change before it, and numbered from the pet's last one on.
    sql: `WITH linked AS (
            SELECT revision, pet_id, previous, before, after,
              row_number() OVER pet AS place, lead(revision) OVER pet AS former, lead(after) OVER pet AS former_after
            FROM changes WINDOW pet AS (PARTITION BY pet_id ORDER BY revision DESC)
          )
          SELECT 'change ' || linked.revision || ': ' || CASE
              WHEN stock.pet_id IS NULL THEN 'it is of a pet that there is not'
              WHEN place = 1 AND stock.revision <> linked.revision THEN 'the stock knows of another last change of the pet'
              WHEN place = 1 AND stock.quantity <> after THEN 'it is the last of the pet, whose stock is another'
              WHEN former IS NULL AND previous >= (SELECT min(revision) FROM changes)
                THEN 'it names a change before it that there is not'
              WHEN former IS NOT NULL AND previous <> former THEN 'it does not name the change of the pet before it'
              WHEN former IS NOT NULL AND before IS NOT former_after THEN 'it does not go on where the one before has ended'
              ELSE 'it must have a mark if it is the ${changesPerMark}th of the pet, and only then'
            END AS fault
          FROM linked LEFT JOIN current_stock AS stock ON stock.pet_id = linked.pet_id
          WHERE stock.pet_id IS NULL
            OR (place = 1 AND (stock.revision <> linked.revision OR stock.quantity <> after))
            OR (former IS NULL AND previous >= (SELECT min(revision) FROM changes))
            OR (former IS NOT NULL AND (previous <> former OR before IS NOT former_after))
            OR ((stock.changes - place + 1) % ${changesPerMark} = 0) <> EXISTS (
              SELECT 1 FROM change_marks AS mark
              WHERE mark.pet_id = linked.pet_id AND mark.revision = linked.revision)`,
  },
  {
    subject: "the links into the history",
    since,
    sql: `SELECT 'pet ' || pet_id || ': its last change, ' || revision || ', is not in the history' AS fault FROM current_stock
          WHERE revision >= (SELECT ifnull(min(revision), 1) FROM changes)
            AND revision NOT IN (SELECT revision FROM changes)
          UNION ALL
          SELECT 'pet ' || pet_id || ': it has a mark of change ' || revision || ', which is none of its changes'
          FROM change_marks AS mark
          WHERE NOT EXISTS (SELECT 1 FROM changes WHERE revision = mark.revision AND pet_id = mark.pet_id)`,
  },
  {
    subject: "the holds",
    since,
    sql: `SELECT 'hold ' || id || ': it is of a pet that there is not' AS fault FROM holds
          WHERE pet_id NOT IN (SELECT pet_id FROM stock)
          UNION ALL
          SELECT 'hold ' || id || ': it must expire after it was made' FROM holds WHERE expires_at_ms <= created_at_ms`,
  },
  {
    subject: "the idempotency records",
    since,
    sql: `SELECT 'idempotency key ' || idempotency_key || ' of ' || key_id || ': it must have a fingerprint and a result'
            AS fault
          FROM idempotency_records
          WHERE length(fingerprint) <> 32 OR NOT json_valid(result)`,
  },
];
