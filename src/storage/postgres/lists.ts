import type { InventoryItem, Order, OrderStatus, Pet, PetStatus, StockedPet } from "../../domain/catalog.ts";
import { historyGone } from "../../domain/errors.ts";
import { minInt64 } from "../../domain/ranges.ts";
import { type StockEntry, versionOf } from "../../domain/stock.ts";
import type { InventoryQuery, ListQuery } from "../../domain/store.ts";
import { Connection, type Queryable } from "./connection/connection.ts";
import type { DatabaseAddress } from "./connection/database-url.ts";
import { fromDriverError } from "./connection/errors.ts";
import type { Value } from "./connection/values.ts";

interface InventoryRow {
  readonly id: bigint;
  readonly quantity: bigint;
  readonly status: PetStatus;
}

/**
 * An entry as it is now. If it has changed after a revision (`is_late`), `former` is its quantity at this revision;
 * null for a pet that did not exist.
 */
interface DatedRow extends InventoryRow {
  readonly is_late: boolean;
  readonly former: bigint | null;
  /** Whether changes after the revision have been deleted. */
  readonly is_cut: boolean;
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
 * Pets that are newer than the revision are left out. So this reads on, piece by piece, until the list has as many
 * entries as asked for. The quantity at a revision is the one before the pet's first later change. This needs no
 * transaction, because the stock at a revision does not change. Throws `UNAVAILABLE` where the history is no longer kept
 * back to the revision. The order makes PostgreSQL use the index of a pet's changes: see `history.ts`.
 */
async function listAsOf(connection: Queryable, query: InventoryQuery, revision: bigint): Promise<InventoryItem[]> {
  const items: InventoryItem[] = [];
  let { after } = query;
  for (;;) {
    const { sql, values } = createListClause("pet_id", { ...query, after });
    const rows = await connection.query<DatedRow>(
      `SELECT pet_id AS id, quantity, status, revision > $4 AS is_late,
         CASE WHEN revision > $4 THEN
           (SELECT before FROM changes
            WHERE (changes.pet_id, changes.revision) > (stock.pet_id, $4)
              AND (changes.pet_id, changes.revision) <= (stock.pet_id, stock.revision)
            ORDER BY changes.pet_id, changes.revision LIMIT 1)
         END AS former,
         (SELECT min(changes.revision) FROM changes) > $4 + 1 AS is_cut
       FROM stock ${sql}`,
      ...values,
      revision,
    );
    if (rows[0]?.is_cut === true) {
      throw historyGone(revision);
    }
    for (const { id, quantity, status, is_late: isLate, former } of rows) {
      if (!isLate || former !== null) {
        items.push({ petId: id, quantity: isLate ? (former as bigint) : quantity, status });
      }
    }
    if (query.limit === undefined || rows.length < query.limit || items.length >= query.limit) {
      return items.slice(0, query.limit);
    }
    after = rows.at(-1)?.id;
  }
}

interface EntryRow {
  readonly quantity: bigint;
  readonly status: PetStatus;
  readonly revision: bigint;
  readonly lineage: string;
}

/** Undefined when there is no such pet. */
export async function findEntry(connection: Queryable, petId: bigint): Promise<StockEntry | undefined> {
  const [row] = await connection.query<EntryRow>(
    `SELECT stock.quantity, stock.status, stock.revision, head.lineage FROM stock CROSS JOIN head WHERE pet_id = $1`,
    petId,
  );
  return row && { petId, quantity: row.quantity, status: row.status, version: versionOf(row.lineage, row.revision) };
}

interface PetRow {
  readonly id: bigint;
  readonly name: string;
  readonly category: string;
  readonly photo_urls: string[];
  readonly tags: string[];
  readonly status: PetStatus;
  readonly quantity: bigint;
}

const petSelection = `SELECT pets.id, pets.name, pets.category, pets.photo_urls, pets.tags, stock.status, stock.quantity
  FROM pets JOIN stock ON stock.pet_id = pets.id`;

/** Undefined when there is no such pet. */
export async function getPet(connection: Queryable, id: bigint): Promise<Pet | undefined> {
  const [row] = await connection.query<PetRow>(`${petSelection} WHERE pets.id = $1`, id);
  return row && petFromRow(row);
}

export async function countPets(connection: Queryable): Promise<number> {
  const [row] = await connection.query<{ count: bigint }>(`SELECT count(*) AS count FROM stock`);
  return Number(row?.count);
}

/** Selects all pets by ascending id. */
export const allPets = `${petSelection} ORDER BY pets.id`;

export function stockedPetFromRow(row: PetRow): StockedPet {
  return { ...petFromRow(row), quantity: row.quantity };
}

function petFromRow(row: PetRow): Pet {
  return {
    id: row.id,
    name: row.name,
    category: row.category,
    photoUrls: row.photo_urls,
    tags: row.tags,
    status: row.status,
  };
}

interface OrderRow {
  readonly id: bigint;
  readonly pet_id: bigint;
  readonly quantity: bigint;
  readonly ship_date_ms: bigint;
  readonly status: OrderStatus;
  readonly complete: boolean;
}

const orderColumns = "id, pet_id, quantity, ship_date_ms, status, complete";

export async function listOrders(connection: Queryable, query: ListQuery<OrderStatus>): Promise<Order[]> {
  const { sql, values } = createListClause("id", query);
  return (await connection.query<OrderRow>(`SELECT ${orderColumns} FROM orders ${sql}`, ...values)).map(orderFromRow);
}

export async function countOrders(connection: Queryable): Promise<number> {
  const [row] = await connection.query<{ count: bigint }>(`SELECT count(*) AS count FROM orders`);
  return Number(row?.count);
}

/** Selects all orders by ascending id. */
export const allOrders = `SELECT ${orderColumns} FROM orders ORDER BY id`;

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

/** The end of a SELECT, and its values from `$1` on. */
interface ListClause {
  readonly sql: string;
  readonly values: readonly Value[];
}

/** Turns a list query into SQL, for any table that has a `status`, and an id in the named column. */
function createListClause(id: string, { statuses, after, limit }: ListQuery<string>): ListClause {
  const wanted = [...new Set(statuses)];
  return {
    sql: `WHERE ${id} ${after === undefined ? ">=" : ">"} $1 ${filterSql(wanted)} ORDER BY ${id} LIMIT $3`,
    values: [
      after ?? minInt64,
      wanted.length === 1 ? (wanted[0] as string) : wanted,
      limit === undefined ? null : BigInt(limit),
    ],
  };
}

/**
 * For one status, the index has the rows in the order of ids. For several, PostgreSQL would have to sort the rows, so
 * the statement goes through all ids.
 */
function filterSql(statuses: readonly string[]): string {
  if (statuses.length === 0) {
    return "AND $2::text[] IS NOT NULL";
  }
  return statuses.length === 1 ? "AND status = $2" : "AND status = ANY ($2)";
}

/** How many rows are fetched at once. */
const rowsPerFetch = 1_000;

/** How long a fetch may take, in milliseconds: the first one may have to sort. */
const fetchTimeoutMs = 60_000;

/**
 * Reads the rows of one query, as of one moment, over a connection of its own. A cursor keeps the memory small, however
 * many rows there are.
 */
export async function* exportRows<Row, Item>(
  address: DatabaseAddress,
  sql: string,
  fromRow: (row: Row) => Item,
): AsyncGenerator<Item> {
  try {
    const connection = await Connection.open(address);
    try {
      await connection.beginLong("READ ONLY");
      await connection.script(`DECLARE exported NO SCROLL CURSOR FOR ${sql}`);
      for (;;) {
        const rows = await connection.within(performance.now() + fetchTimeoutMs, () =>
          connection.query<Row>(`FETCH ${rowsPerFetch} FROM exported`),
        );
        for (const row of rows) {
          yield fromRow(row);
        }
        if (rows.length < rowsPerFetch) {
          return;
        }
      }
    } finally {
      await connection.close();
    }
  } catch (error) {
    throw fromDriverError(error, address);
  }
}
