import { type InventoryItem, petStatuses } from "../../domain/pet.ts";
import type { InventoryQuery } from "../../domain/store/stock-store.ts";
import { assertAscending, readEnumText, readInteger } from "./column-values.ts";
import type { Connection } from "./connection.ts";
import { createListClause } from "./list-clause.ts";
import { unappliedOf } from "./unapplied-changes.ts";

interface InventoryRow {
  readonly id: bigint;
  readonly quantity: bigint;
  readonly status: string;
  /** Of the last change. */
  readonly revision: bigint;
}

export function listInventory(connection: Connection, query: InventoryQuery): InventoryItem[] {
  const { asOf } = query;
  if (asOf !== undefined) {
    return listAsOf(connection, query, asOf);
  }
  return listRows(connection, query).map(inventoryFromRow);
}

/** Rows of `stock`, with changes that have not been applied to them. */
function listRows(connection: Connection, query: InventoryQuery): InventoryRow[] {
  const { sql, values } = createListClause("pet_id", query);
  const rows = connection.all<InventoryRow>(
    `SELECT pet_id AS id, quantity, status, revision FROM stock ${sql}`,
    ...values,
  );
  assertAscending(rows);
  const unapplied = unappliedOf(connection);
  return unapplied.count === 0
    ? rows
    : rows.map((row) => {
        const change = unapplied.find(row.id);
        return change !== undefined && change.revision > row.revision
          ? { ...row, quantity: change.quantity, revision: change.revision }
          : row;
      });
}

/** Reads on until the list is as long as it may be, because pets that are newer than the revision are left out. */
function listAsOf(connection: Connection, query: InventoryQuery, revision: bigint): InventoryItem[] {
  const items: InventoryItem[] = [];
  let { after } = query;
  for (;;) {
    const limit = query.limit === undefined ? undefined : query.limit - items.length;
    const rows = listRows(connection, { ...query, after, limit });
    items.push(...putBack(connection, rows, revision));
    after = rows.at(-1)?.id;
    if (limit === undefined || rows.length < limit || items.length === query.limit) {
      return items;
    }
  }
}

/** The entries as they were after a revision, without those that were not there yet. */
function putBack(connection: Connection, rows: readonly InventoryRow[], revision: bigint): InventoryItem[] {
  const late = rows.filter((row) => row.revision > revision);
  const former = late.length === 0 ? undefined : formerQuantities(connection, late, revision);
  return rows.flatMap((row) => {
    const quantity = row.revision > revision ? former?.get(row.id) : row.quantity;
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
  late: readonly InventoryRow[],
  revision: bigint,
): ReadonlyMap<bigint, bigint | null> {
  const rows = connection.all<{ pet_id: bigint; before: bigint | null }>(
    `WITH RECURSIVE walk (pet_id, revision, previous, before) AS (
       SELECT pet_id, revision, previous, before FROM changes
       WHERE revision IN (
         SELECT ifnull(
           (SELECT min(revision) FROM change_marks WHERE change_marks.pet_id = pair.value ->> 0 AND revision > ?),
           pair.value ->> 1)
         FROM json_each(?) AS pair)
       UNION ALL
       SELECT changes.pet_id, changes.revision, changes.previous, changes.before
       FROM walk CROSS JOIN changes ON changes.revision = walk.previous
       WHERE walk.previous > ?
     )
     SELECT pet_id, before, min(revision) FROM walk GROUP BY pet_id`,
    revision,
    `[${late.map(({ id, revision: last }) => `[${id},${last}]`).join(",")}]`,
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
