import {
  hasChanges,
  type ImportCounts,
  type ImportResult,
  type Imports,
  type Order,
  type RecordChange,
  type StockedPet,
  UnknownRecordError,
} from "../../domain/catalog.ts";
import type { CopiedValue } from "../copy.ts";
import {
  type CountsRow,
  countsFromRow,
  type ImportTable,
  isWholeSql,
  type StrayRow,
  selectStrays,
  straysFromRows,
} from "../staged-import.ts";
import { anyWriter, countChanges } from "./change-tokens.ts";
import { Connection, importLock, type Queryable } from "./connection/connection.ts";
import { copyRows } from "./connection/copy-rows.ts";
import { type DatabaseAddress, parseDatabaseUrl } from "./connection/database-url.ts";
import { fromDriverError } from "./connection/errors.ts";
import { assertSupported, commitOrDoubt, identify, lookInto } from "./database.ts";
import { takeSteps } from "./migrations.ts";
import { readClock } from "./servers.ts";
import { lockHead } from "./writer/round-trips.ts";

/**
 * Imports all of the pets and orders, or none, over a connection of its own. Others can write during slow input,
 * because the records are first staged in temporary tables. Then imports wait for one another, because only they write
 * pets and orders. Other writers wait only while the stock is merged. Throws `DatabaseError` where the connection is
 * lost during the commit.
 */
export function importAll(address: DatabaseAddress, imports: Imports, nowMs?: number): Promise<ImportResult> {
  return staging(address, imports, async (connection) => {
    await connection.query(`SELECT pg_advisory_xact_lock($1)`, importLock);
    const result = await describe(connection);
    await mergeStaged(connection, petImport);
    await mergeStaged(connection, orderImport);
    await mergeStock(connection, nowMs);
    if (hasChanges(result)) {
      await countChanges(connection, { writer: anyWriter, notifies: true }, "stock", 1);
    }
    const next = "see whether it is there before you run it again";
    await commitOrDoubt(connection, address, { work: "import", next });
    return result;
  });
}

/**
 * Returns what an import into a database would do, and changes nothing: makes no store, and migrates none. Throws what
 * the import would throw, and `DatabaseError`.
 */
export async function previewImportInto(url: string, imports: Imports): Promise<ImportResult> {
  const address = parseDatabaseUrl(url);
  const version = await lookInto(address, async (connection) => {
    await assertSupported(connection, address);
    return identify(connection, address);
  });
  return staging(address, imports, async (connection) => {
    // Where there is no store, the transaction makes one. It is not committed.
    await takeSteps(connection, version);
    return describe(connection);
  });
}

/** Stages the records in a transaction, and runs the work in it. The work may commit. */
async function staging<T>(
  address: DatabaseAddress,
  { pets = [], orders = [] }: Imports,
  work: (connection: Connection) => Promise<T>,
): Promise<T> {
  try {
    // `COPY` needs a connection that sends one statement at a time.
    const connection = await Connection.open(address, { isPipelined: false });
    try {
      await connection.beginLong();
      await connection.script("SET LOCAL lock_timeout = '60s'");
      await stageAll(connection, petImport, pets);
      await stageAll(connection, orderImport, orders);
      return await work(connection);
    } finally {
      // A transaction that was not committed is rolled back with the connection.
      await connection.close();
    }
  } catch (error) {
    throw fromDriverError(error, address);
  }
}

/** Throws `UnknownRecordError`. */
async function describe(connection: Connection): Promise<ImportResult> {
  return {
    pets: await countStaged(connection, petImport),
    orders: await countStaged(connection, orderImport),
    strays: straysFromRows(await connection.query<StrayRow>(selectStrays)),
  };
}

/**
 * Writes the stock of the staged pets, under the lock of the head row. The history gets a change for each pet whose
 * quantity or status is written, in the order of their ids. Each statement works on a whole set of rows, because an
 * import may have a million pets.
 */
async function mergeStock(connection: Queryable, nowMs: number | undefined): Promise<void> {
  const { revision: head } = await lockHead(connection);
  await connection.query(
    `INSERT INTO changes (revision, pet_id, before, after, kind, occurred_at_ms)
     SELECT $1 + row_number() OVER (ORDER BY id), id, stock.quantity, coalesce(staged.quantity, stock.quantity),
       'import', $2
     FROM staged_pets AS staged LEFT JOIN stock ON pet_id = id
     WHERE staged.quantity IS NOT NULL OR staged.status IS NOT NULL
     ORDER BY id`,
    head,
    BigInt(nowMs ?? (await readClock(connection))),
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

/** The table of one kind of records. */
type Table<Item> = ImportTable<Item, "text" | "text[]" | "bigint" | "boolean", CopiedValue>;

/** How pets are imported. Their stock goes into a table of its own: see `mergeStock`. */
const petImport: Table<RecordChange<StockedPet>> = {
  table: "pets",
  columns: { name: "text", category: "text", photo_urls: "text[]", tags: "text[]" },
  otherColumns: { status: "text", quantity: "bigint" },
  toValues: ({ name, category, photoUrls, tags, status, quantity }) => [
    name ?? null,
    category ?? null,
    photoUrls ?? null,
    tags ?? null,
    status ?? null,
    quantity ?? null,
  ],
};

/** How orders are imported. */
const orderImport: Table<RecordChange<Order>> = {
  table: "orders",
  columns: { pet_id: "bigint", quantity: "bigint", ship_date_ms: "bigint", status: "text", complete: "boolean" },
  otherColumns: {},
  toValues: ({ petId, quantity, shipDateMs, status, complete }) => [
    petId ?? null,
    quantity ?? null,
    shipDateMs === undefined ? null : BigInt(shipDateMs),
    status ?? null,
    complete ?? null,
  ],
};

/** Stages records in a new temporary table. Of several records with one id the later fields win. */
async function stageAll<Item extends { readonly id: bigint }>(
  connection: Connection,
  importTable: Table<Item>,
  items: Iterable<Item> | AsyncIterable<Item>,
): Promise<void> {
  const { table, toValues } = importTable;
  const types = { ...importTable.columns, ...importTable.otherColumns };
  const names = Object.keys(types);
  // Lists are kept as text here, so that several records with one id can be merged.
  const columns = Object.entries(types).map(([name, type]) => `${name} ${type === "text[]" ? "text" : type}`);
  await connection.script(
    `CREATE TEMP TABLE sent_${table} (position bigint, id bigint, ${columns.join(", ")}) ON COMMIT DROP`,
  );
  async function* rows(): AsyncGenerator<CopiedValue[]> {
    let position = 0n;
    for await (const item of items) {
      yield [position, item.id, ...toValues(item)];
      position += 1n;
    }
  }
  await copyRows(connection, `sent_${table}`, rows());
  const cast = (name: string, value: string) => (types[name] === "text[]" ? `(${value})::text[]` : value);
  const last = (name: string) =>
    `${cast(name, `(array_agg(${name} ORDER BY position DESC) FILTER (WHERE ${name} IS NOT NULL))[1]`)} AS ${name}`;
  await connection.script(
    `CREATE TEMP TABLE staged_${table} ON COMMIT DROP AS
       WITH repeated AS (SELECT id FROM sent_${table} GROUP BY id HAVING count(*) > 1)
       SELECT position, id, ${names.map((name) => `${cast(name, name)} AS ${name}`).join(", ")} FROM sent_${table}
       WHERE id NOT IN (SELECT id FROM repeated)
       UNION ALL
       SELECT min(position), id, ${names.map(last).join(", ")} FROM sent_${table}
       WHERE id IN (SELECT id FROM repeated) GROUP BY id;
     DROP TABLE sent_${table};
     CREATE UNIQUE INDEX ON staged_${table} (id);
     ANALYZE staged_${table}`,
  );
}

/**
 * Counts what a merge of the staged records would do. Throws `UnknownRecordError` for the first record that has only
 * some fields and is not in the store.
 */
async function countStaged(connection: Connection, importTable: Table<never>): Promise<ImportCounts> {
  const { table } = importTable;
  const isWhole = isWholeSql(importTable);
  const isKnown = `EXISTS (SELECT 1 FROM ${table} WHERE ${table}.id = staged.id)`;
  const [unknown] = await connection.query<{ id: bigint }>(
    `SELECT id FROM staged_${table} AS staged WHERE NOT (${isWhole}) AND NOT ${isKnown} ORDER BY position LIMIT 1`,
  );
  if (unknown !== undefined) {
    throw new UnknownRecordError(table, unknown.id);
  }
  const [counts] = await connection.query<CountsRow>(
    `SELECT count(*) AS total, count(*) FILTER (WHERE ${isKnown}) AS known,
       count(*) FILTER (WHERE NOT (${isWhole})) AS partial
     FROM staged_${table} AS staged`,
  );
  return countsFromRow(counts as CountsRow);
}

/** Merges the staged records. A whole record replaces the stored one. Any other changes only the fields that it has. */
async function mergeStaged(connection: Connection, importTable: Table<never>): Promise<void> {
  const { table } = importTable;
  const names = Object.keys(importTable.columns);
  const isWhole = isWholeSql(importTable);
  await connection.query(
    `INSERT INTO ${table} (id, ${names.join(", ")})
     SELECT id, ${names.join(", ")} FROM staged_${table} WHERE ${isWhole} ORDER BY id
     ON CONFLICT (id) DO UPDATE SET ${names.map((name) => `${name} = excluded.${name}`).join(", ")}`,
  );
  await connection.query(
    `UPDATE ${table} SET ${names.map((name) => `${name} = coalesce(staged.${name}, ${table}.${name})`).join(", ")}
     FROM (SELECT * FROM staged_${table} WHERE NOT (${isWhole})
             AND (${names.map((name) => `${name} IS NOT NULL`).join(" OR ")})) AS staged
     WHERE staged.id = ${table}.id`,
  );
}
