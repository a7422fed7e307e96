import { type InventoryItem, petStatuses } from "../../domain/pet.ts";
import type { InventoryQuery } from "../../domain/store/stock-store.ts";
import { assertAscending, readEnumText, readInteger } from "./column-values.ts";
import type { Connection } from "./connection.ts";
import { createListClause } from "./list-clause.ts";

interface InventoryRow {
  readonly id: bigint;
  readonly quantity: bigint;
  readonly status: string;
}

/** An entry, and whether it has changed since the wanted revision. */
interface DatedRow extends InventoryRow {
  readonly is_late: bigint;
}

export function listInventory(connection: Connection, query: InventoryQuery): InventoryItem[] {
  const { asOf } = query;
  if (asOf !== undefined) {
    return listAsOf(connection, query, asOf);
  }
  const { sql, values } = createListClause("pet_id", query);
  const rows = connection.all<InventoryRow>(`SELECT pet_id AS id, quantity, status FROM stock ${sql}`, ...values);
  assertAscending(rows);
  return rows.map(inventoryFromRow);
}

/**
 * Reads on until the list is as long as it may be, because pets that are newer than the revision are left out. Needs no
 * transaction: the stock after a revision does not change.
 */
function listAsOf(connection: Connection, query: InventoryQuery, revision: bigint): InventoryItem[] {
  const items: InventoryItem[] = [];
  let { after } = query;
  for (;;) {
    const limit = query.limit === undefined ? undefined : query.limit - items.length;
    const { sql, values } = createListClause("pet_id", { ...query, after, limit });
    const rows = connection.all<DatedRow>(
      `SELECT pet_id AS id, quantity, status, revision > ? AS is_late FROM stock ${sql}`,
      revision,
      ...values,
    );
    assertAscending(rows);
    items.push(...putBack(connection, rows, revision));
    after = rows.at(-1)?.id;
    if (limit === undefined || rows.length < limit || items.length === query.limit) {
      return items;
    }
  }
}

/** The entries as they were after a revision, without those that were not there yet. */
function putBack(connection: Connection, rows: readonly DatedRow[], revision: bigint): InventoryItem[] {
  const late = rows.filter((row) => row.is_late === 1n).map(({ id }) => id);
  const former = late.length === 0 ? undefined : formerQuantities(connection, late, revision);
  return rows.flatMap((row) => {
    const quantity = row.is_late === 1n ? former?.get(row.id) : row.quantity;
    return quantity === undefined || quantity === null ? [] : inventoryFromRow({ ...row, quantity });
  });
}

/**
 * The quantities of pets before their first changes after a revision; null for a pet that was not there. Each pet's
 * changes are walked back, from the first mark after the revision, or from its last change. Where the history is no
 * longer kept back to the revision, the oldest change that is kept counts.
 */
function formerQuantities(
  connection: Connection,
  petIds: readonly bigint[],
  revision: bigint,
): ReadonlyMap<bigint, bigint | null> {
  const rows = connection.all<{ pet_id: bigint; before: bigint | null }>(
    `WITH RECURSIVE walk (pet_id, revision, previous, before) AS (
       SELECT pet_id, revision, previous, before FROM changes
       WHERE revision IN (
         SELECT ifnull(
           (SELECT min(revision) FROM change_marks WHERE change_marks.pet_id = stock.pet_id AND revision > ?),
           stock.revision)
         FROM json_each(?) CROSS JOIN stock ON stock.pet_id = json_each.value)
       UNION ALL
       SELECT changes.pet_id, changes.revision, changes.previous, changes.before
       FROM walk CROSS JOIN changes ON changes.revision = walk.previous
       WHERE walk.previous > ?
     )
     SELECT pet_id, before, min(revision) FROM walk GROUP BY pet_id`,
    revision,
    `[${petIds.join(",")}]`,
    revision,
  );
  return new Map(rows.map((row) => [row.pet_id, row.before]));
}

function inventoryFromRow(row: InventoryRow): InventoryItem {
  return {
    petId: readInteger(row.id),
    quantity: readInteger(row.quantity),
    status: readEnumText(row.status, petStatuses),
  };
}
