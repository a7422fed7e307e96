import type { RecordChange } from "../../domain/import.ts";
import { type Order, type OrderStatus, orderStatuses } from "../../domain/pet.ts";
import type { ListQuery } from "../../domain/store/pet-store.ts";
import { toNullable } from "../rows.ts";
import { assertAscending, readEnumText, readInteger } from "./column-values.ts";
import type { Connection } from "./connection.ts";
import type { ImportTable } from "./import/staging.ts";
import { createListClause } from "./list-clause.ts";

interface OrderRow {
  readonly id: bigint;
  readonly pet_id: bigint;
  readonly quantity: bigint;
  readonly ship_date_ms: bigint;
  readonly status: string;
  readonly complete: bigint;
}

export function listOrders(connection: Connection, query: ListQuery<OrderStatus>): Order[] {
  const clause = createListClause("id", query);
  const rows = connection.all<OrderRow>(`SELECT * FROM orders ${clause.sql}`, ...clause.values);
  assertAscending(rows);
  return rows.map(orderFromRow);
}

export function countOrders(connection: Connection): number {
  return Number(connection.get<{ count: bigint }>(`SELECT count(*) AS count FROM orders`)?.count);
}

/** All orders by ascending id, one by one. */
export function* iterateOrders(connection: Connection): Generator<Order> {
  for (const row of connection.iterate<OrderRow>(`SELECT * FROM orders ORDER BY id`)) {
    yield orderFromRow(row);
  }
}

/** How orders are imported. */
export const orderImport: ImportTable<RecordChange<Order>> = {
  table: "orders",
  columns: {
    pet_id: "INTEGER",
    quantity: "INTEGER",
    ship_date_ms: "INTEGER",
    status: "TEXT",
    complete: "INTEGER",
  },
  toValues: ({ petId, quantity, shipDateMs, status, complete }) => [
    petId ?? null,
    quantity ?? null,
    toNullable(shipDateMs),
    status ?? null,
    complete === undefined ? null : BigInt(complete),
  ],
};

function orderFromRow(row: OrderRow): Order {
  return {
    id: row.id,
    petId: readInteger(row.pet_id),
    quantity: readInteger(row.quantity),
    shipDateMs: Number(readInteger(row.ship_date_ms)),
    status: readEnumText(row.status, orderStatuses),
    complete: row.complete === 1n,
  };
}
