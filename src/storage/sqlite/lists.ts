import { nextTick } from "node:process";
import { setImmediate } from "node:timers/promises";
import {
  type InventoryItem,
  type Order,
  type OrderStatus,
  orderStatuses,
  type Pet,
  petStatuses,
  type StockedPet,
} from "../../domain/catalog.ts";
import { historyGone } from "../../domain/errors.ts";
import { minInt64 } from "../../domain/ranges.ts";
import type { InventoryQuery, ListQuery } from "../../domain/store.ts";
import {
  assertAscending,
  type Connection,
  fromDriverError,
  readEnumText,
  readInteger,
  readStringArray,
  type Value,
} from "./connection.ts";
import { oldestRevision } from "./history-bounds.ts";
import { stockCacheOf } from "./stock-cache.ts";

/**
 * Runs reads over a connection. Reads of one turn of the event loop share a transaction, because a transaction locks
 * and unlocks the file, which costs more than a small read. No read misses a write that it should see: requests and
 * other threads' messages arrive between turns, so all reads of a turn were asked for before the first one runs.
 */
export class TurnReads {
  readonly #connection: Connection;
  #isBegun = false;

  constructor(connection: Connection) {
    this.#connection = connection;
  }

  /** Throws `UNAVAILABLE` when the medium fails. */
  read<T>(work: (connection: Connection) => T): T {
    try {
      if (!this.#isBegun) {
        this.#begin();
      }
      return work(this.#connection);
    } catch (error) {
      throw fromDriverError(error);
    }
  }

  /** Lets the reads that follow see what was written in this turn. */
  end(): void {
    this.#isBegun = false;
    try {
      this.#commit();
    } catch {
      // After a damaged page SQLite throws even here. If the transaction is still open, the next read fails, too.
    }
  }

  #begin(): void {
    this.#commit();
    this.#connection.run("BEGIN");
    stockCacheOf(this.#connection).expire();
    this.#isBegun = true;
    nextTick(() => this.end());
  }

  #commit(): void {
    if (this.#connection.inTransaction) {
      this.#connection.run("COMMIT");
    }
  }
}

interface InventoryRow {
  readonly id: bigint;
  readonly quantity: bigint;
  readonly status: string;
  /** The revision of the last change. */
  readonly revision: bigint;
}

export async function listInventory(reads: TurnReads, query: InventoryQuery): Promise<InventoryItem[]> {
  const { asOf } = query;
  return asOf === undefined
    ? reads.read((connection) => listRows(connection, query).map(inventoryFromRow))
    : await listAsOf(reads, query, asOf);
}

/** Rows of `stock`, each with its last change, which may not have been applied to the table. */
function listRows(connection: Connection, query: InventoryQuery): InventoryRow[] {
  const { sql, values } = createListClause("pet_id", query);
  const rows = connection.all<InventoryRow>(
    `SELECT pet_id AS id, quantity, status, revision FROM stock ${sql}`,
    ...values,
  );
  assertAscending(rows);
  const cache = stockCacheOf(connection);
  return cache.unapplied === 0
    ? rows
    : rows.map((row) => {
        const change = cache.findChange(row.id);
        return change !== undefined && change.revision > row.revision
          ? { ...row, quantity: change.quantity, revision: change.revision }
          : row;
      });
}

/**
 * Pets that are newer than the revision are left out. So this reads on, piece by piece, until the list has as many
 * entries as asked for. After an import these pets may be very many, so other work goes on between the pieces. The
 * pieces match, because the stock at a revision does not change.
 */
async function listAsOf(reads: TurnReads, query: InventoryQuery, revision: bigint): Promise<InventoryItem[]> {
  const items: InventoryItem[] = [];
  let { after } = query;
  for (;;) {
    const piece = reads.read((connection) => {
      const rows = listRows(connection, { ...query, after });
      return { rows, items: putBack(connection, rows, revision) };
    });
    items.push(...piece.items);
    if (query.limit === undefined || piece.rows.length < query.limit || items.length >= query.limit) {
      return items.slice(0, query.limit);
    }
    after = piece.rows.at(-1)?.id;
    await setImmediate();
  }
}

/**
 * The entries as they were after a revision, without those that did not exist yet. Throws `UNAVAILABLE` where the history
 * is no longer kept back to the revision.
 */
function putBack(connection: Connection, rows: readonly InventoryRow[], revision: bigint): InventoryItem[] {
  if (oldestRevision(connection) > revision + 1n) {
    throw historyGone(revision);
  }
  const late = rows.filter((row) => row.revision > revision);
  const former = late.length === 0 ? undefined : formerQuantities(connection, late, revision);
  return rows.flatMap((row) => {
    const quantity = row.revision > revision ? former?.get(row.id) : row.quantity;
    return quantity === undefined || quantity === null ? [] : inventoryFromRow({ ...row, quantity });
  });
}

/**
 * The quantity of each pet before its first change after a revision; null for a pet that did not exist. The statement
 * walks each pet's changes back: from the first mark after the revision, or else from the last change.
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

interface PetRow {
  readonly id: bigint;
  readonly name: string;
  readonly category: string;
  readonly photo_urls: string;
  readonly tags: string;
  readonly status: string;
}

interface StockedPetRow extends PetRow {
  readonly quantity: bigint;
}

/** Undefined when there is no such pet. */
export function getPet(connection: Connection, id: bigint): Pet | undefined {
  const row = connection.get<PetRow>(`SELECT pets.*, status FROM pets JOIN stock ON pet_id = id WHERE id = +?`, id);
  return row && petFromRow(row);
}

export function countPets(connection: Connection): number {
  return Number(connection.get<{ count: bigint }>(`SELECT count(*) AS count FROM stock`)?.count);
}

/** All pets by ascending id, one by one. */
export function* iteratePets(connection: Connection): Generator<StockedPet> {
  const rows = connection.iterate<StockedPetRow>(
    `SELECT pets.*, status, quantity FROM pets CROSS JOIN current_stock ON pet_id = id ORDER BY id`,
  );
  for (const row of rows) {
    yield { ...petFromRow(row), quantity: readInteger(row.quantity) };
  }
}

function petFromRow(row: PetRow): Pet {
  return {
    id: row.id,
    name: row.name,
    category: row.category,
    photoUrls: readStringArray(row.photo_urls),
    tags: readStringArray(row.tags),
    status: readEnumText(row.status, petStatuses),
  };
}

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

/** The end of a SELECT, and its values. */
interface ListClause {
  readonly sql: string;
  readonly values: readonly Value[];
}

/** Turns a list query into SQL, for any table that has a `status`, and an id in the named column. */
function createListClause(id: string, { statuses, after, limit }: ListQuery<string>): ListClause {
  const wanted = [...new Set(statuses)];
  return {
    sql: `WHERE ${id} ${after === undefined ? ">=" : ">"} ? ${filterSql(wanted.length)} ORDER BY ${id} LIMIT ?`,
    values: [after ?? minInt64, ...wanted, BigInt(limit ?? -1)],
  };
}

/**
 * For one status SQLite uses the index, which is sorted by id within a status. For several statuses it would have to
 * sort all matches first: the `+` keeps it from the index, so that it goes through the ids in order.
 */
function filterSql(count: number): string {
  if (count === 0) {
    return "";
  }
  return count === 1 ? "AND status = ?" : `AND +status IN (${Array(count).fill("?").join(", ")})`;
}
