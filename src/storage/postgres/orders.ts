import type { Order, OrderStatus } from "../../domain/pet.ts";
import type { ListQuery } from "../../domain/store/pet-store.ts";
import type { Queryable } from "./connection/connection.ts";
import { createListClause } from "./list-clause.ts";

interface OrderRow {
  readonly id: bigint;
  readonly pet_id: bigint;
  readonly quantity: bigint;
  readonly ship_date_ms: bigint;
  readonly status: OrderStatus;
  readonly complete: boolean;
}

const columns = "id, pet_id, quantity, ship_date_ms, status, complete";

export async function listOrders(connection: Queryable, query: ListQuery<OrderStatus>): Promise<Order[]> {
  const { sql, values } = createListClause("id", query);
  return (await connection.query<OrderRow>(`SELECT ${columns} FROM orders ${sql}`, ...values)).map(orderFromRow);
}

export async function countOrders(connection: Queryable): Promise<number> {
  const [row] = await connection.query<{ count: bigint }>(`SELECT count(*) AS count FROM orders`);
  return Number(row?.count);
}

/** Selects all orders by ascending id. */
export const allOrders = `SELECT ${columns} FROM orders ORDER BY id`;

export function orderFromRow(row: OrderRow): Order {
  return {
    id: row.id,
    petId: row.pet_id,
    quantity: row.quantity,
    shipDateMs: Number(row.ship_date_ms),
    status: row.status,
    complete: row.complete,
  };
}
