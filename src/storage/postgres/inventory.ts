import type { InventoryItem, PetStatus } from "../../domain/pet.ts";
import type { InventoryQuery } from "../../domain/store/stock-store.ts";
import type { Queryable } from "./connection/connection.ts";
import { createListClause } from "./list-clause.ts";

interface InventoryRow {
  readonly id: bigint;
  readonly quantity: bigint;
  readonly status: PetStatus;
}

/** An entry as it is, and what its quantity was after a revision: null for a pet that was not there. */
interface DatedRow extends InventoryRow {
  readonly is_late: boolean;
  readonly former: bigint | null;
}

export async function listInventory(connection: Queryable, query: InventoryQuery): Promise<InventoryItem[]> {
  if (query.asOf !== undefined) {
    return listAsOf(connection, query, query.asOf);
  }
  const { sql, values } = createListClause("pet_id", query);
  const rows = await connection.query<InventoryRow>(
    `SELECT pet_id AS id, quantity, status FROM stock ${sql}`,
    ...values,
  );
  return rows.map(({ id, quantity, status }) => ({ petId: id, quantity, status }));
}

/**
 * Reads on until the list is as long as it may be, because pets that are newer than the revision are left out. The
 * quantity after a revision is the one before the pet's first change after it; where the history is no longer kept
 * back to the revision, the oldest change that is kept counts. Needs no transaction: the stock after a revision does
 * not change.
 */
async function listAsOf(connection: Queryable, query: InventoryQuery, revision: bigint): Promise<InventoryItem[]> {
  const items: InventoryItem[] = [];
  let { after } = query;
  for (;;) {
    const limit = query.limit === undefined ? undefined : query.limit - items.length;
    const { sql, values } = createListClause("pet_id", { ...query, after, limit });
    const rows = await connection.query<DatedRow>(
      `SELECT pet_id AS id, quantity, status, revision > $4 AS is_late,
         CASE WHEN revision > $4 THEN
           (SELECT before FROM changes WHERE changes.pet_id = stock.pet_id AND changes.revision > $4
            ORDER BY changes.revision LIMIT 1)
         END AS former
       FROM stock ${sql}`,
      ...values,
      revision,
    );
    for (const { id, quantity, status, is_late: isLate, former } of rows) {
      if (!isLate || former !== null) {
        items.push({ petId: id, quantity: isLate ? (former as bigint) : quantity, status });
      }
    }
    after = rows.at(-1)?.id;
    if (limit === undefined || rows.length < limit || items.length === query.limit) {
      return items;
    }
  }
}
