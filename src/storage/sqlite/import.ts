import { statSync } from "node:fs";
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
import { toNullable } from "../rows.ts";
import {
  type CountsRow,
  countsFromRow,
  type ImportTable,
  isWholeSql,
  type StrayRow,
  selectStrays,
  straysFromRows,
} from "../staged-import.ts";
import { countChange } from "./change-tokens.ts";
import { Connection, fromDriverError, type Value } from "./connection.ts";
import { assertUsable, openDatabase } from "./database.ts";
import { headOf } from "./history-bounds.ts";
import { migrate } from "./migrations.ts";
import { applyAll, changesPerMark, markApplied } from "./stock.ts";
import { type FileIdentity, resolveStore, toStoreFileError } from "./store-file.ts";

interface ImportOptions {
  /** The file of the connection, from before that was opened. */
  readonly file: FileIdentity;
  /** When the import happens; when it is written, by default. */
  readonly nowMs?: number | undefined;
}

/**
 * Imports all of the pets and orders, or none, over a connection of its own. Others can write during slow input: the
 * records are staged in temporary tables, which are no part of the store, and only the merge locks the store. Throws
 * `StoreFileError` where the file was moved meanwhile.
 */
export async function importAll(
  connection: Connection,
  imports: Imports,
  { file, nowMs }: ImportOptions,
): Promise<ImportResult> {
  await stage(connection, imports);
  return connection.atomically(() => {
    const result = describe(connection);
    // Without records nothing is written, since servers would take an uncounted write for one of another program.
    if (hasChanges(result)) {
      mergeStaged(connection, petImport);
      mergeStock(connection, nowMs ?? Date.now());
      mergeStaged(connection, orderImport);
      countChange(connection, "stock");
      file.assertUnmoved();
    }
    return result;
  });
}

/** Tells what `importAll` would do, and changes nothing. */
async function previewImport(connection: Connection, imports: Imports): Promise<ImportResult> {
  await stage(connection, imports);
  return connection.inSnapshot(() => describe(connection));
}

async function stage(connection: Connection, { pets = [], orders = [] }: Imports): Promise<void> {
  connection.run("BEGIN");
  await stageAll(connection, petImport, pets);
  await stageAll(connection, orderImport, orders);
  connection.run("COMMIT");
}

/** Throws `UnknownRecordError`. */
function describe(connection: Connection): ImportResult {
  return {
    pets: countStaged(connection, petImport),
    orders: countStaged(connection, orderImport),
    strays: straysFromRows(connection.all<StrayRow>(selectStrays)),
  };
}

/**
 * Returns what an import into the store in a file would do, and changes nothing: creates no store, and migrates none.
 * Throws what the import would throw, and `StoreFileError`.
 */
export async function previewImportInto(file: string, imports: Imports): Promise<ImportResult> {
  const connection = openForPreview(file);
  try {
    return await previewImport(connection, imports);
  } catch (error) {
    throw fromDriverError(error);
  } finally {
    connection.close();
  }
}

/** Opens the store. Where the import would create one, opens an empty store in memory. */
function openForPreview(file: string): Connection {
  try {
    return (isMissing(file) ? undefined : openExisting(file)) ?? openEmpty();
  } catch (error) {
    throw toStoreFileError(error, file);
  }
}

/** Whether there is no such file. One that cannot be reached may be there. */
function isMissing(file: string): boolean {
  try {
    statSync(file);
    return false;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "ENOENT";
  }
}

/** Undefined for an empty file. */
function openExisting(file: string): Connection | undefined {
  const connection = openDatabase(resolveStore(file, "refuse"));
  try {
    if (assertUsable(connection, file) === "store") {
      return connection;
    }
  } catch (error) {
    connection.close();
    throw error;
  }
  connection.close();
  return undefined;
}

function openEmpty(): Connection {
  const connection = new Connection(":memory:");
  migrate(connection);
  return connection;
}

/**
 * Writes the stock of the staged pets. The history gets a change for each pet whose quantity or status is written, in
 * the order of their ids. Each statement works on a whole set of rows, because an import may have a million pets.
 */
function mergeStock(connection: Connection, nowMs: number): void {
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

/** The table of one kind of records. */
type Table<Item> = ImportTable<Item, "TEXT" | "INTEGER", Value>;

/** How pets are imported. Their stock goes into a table of its own: see `mergeStock`. */
const petImport: Table<RecordChange<StockedPet>> = {
  table: "pets",
  columns: {
    name: "TEXT",
    category: "TEXT",
    photo_urls: "TEXT",
    tags: "TEXT",
  },
  otherColumns: {
    status: "TEXT",
    quantity: "INTEGER",
  },
  toValues: ({ name, category, photoUrls, tags, status, quantity }) => [
    name ?? null,
    category ?? null,
    photoUrls === undefined ? null : JSON.stringify(photoUrls),
    tags === undefined ? null : JSON.stringify(tags),
    status ?? null,
    quantity ?? null,
  ],
};

/** How orders are imported. */
const orderImport: Table<RecordChange<Order>> = {
  table: "orders",
  columns: {
    pet_id: "INTEGER",
    quantity: "INTEGER",
    ship_date_ms: "INTEGER",
    status: "TEXT",
    complete: "INTEGER",
  },
  otherColumns: {},
  toValues: ({ petId, quantity, shipDateMs, status, complete }) => [
    petId ?? null,
    quantity ?? null,
    toNullable(shipDateMs),
    status ?? null,
    complete === undefined ? null : BigInt(complete),
  ],
};

/** Stages records in a new temporary table. Of several records with one id the later fields win. */
async function stageAll<Item extends { readonly id: bigint }>(
  connection: Connection,
  { table, columns, otherColumns, toValues }: Table<Item>,
  items: Iterable<Item> | AsyncIterable<Item>,
): Promise<void> {
  const all = { ...columns, ...otherColumns };
  const names = Object.keys(all);
  const typed = Object.entries(all).map(([name, type]) => `${name} ${type}`);
  connection.execute(
    `CREATE TEMP TABLE staged_${table} (id INTEGER PRIMARY KEY, position INTEGER, ${typed.join(", ")}) STRICT`,
  );
  const stage = `INSERT INTO staged_${table} (id, position, ${names.join(", ")})
     VALUES (?, ?, ${names.map(() => "?").join(", ")})
     ON CONFLICT (id) DO UPDATE SET ${names.map((name) => `${name} = ifnull(excluded.${name}, ${name})`).join(", ")}`;
  let position = 0n;
  for await (const item of items) {
    connection.run(stage, item.id, position, ...toValues(item));
    position += 1n;
  }
}

/**
 * Counts what a merge of the staged records would do. Throws `UnknownRecordError` for the first record that has only
 * some fields and is not in the store.
 */
function countStaged(connection: Connection, importTable: Table<never>): ImportCounts {
  const { table } = importTable;
  const isWhole = isWholeSql(importTable);
  const isKnown = `id IN (SELECT id FROM ${table})`;
  const unknown = connection.get<{ id: bigint }>(
    `SELECT id FROM staged_${table} WHERE NOT (${isWhole}) AND NOT ${isKnown} ORDER BY position LIMIT 1`,
  );
  if (unknown !== undefined) {
    throw new UnknownRecordError(table, unknown.id);
  }
  const counts = connection.get<CountsRow>(
    `SELECT count(*) AS total, count(*) FILTER (WHERE ${isKnown}) AS known,
       count(*) FILTER (WHERE NOT (${isWhole})) AS partial
     FROM staged_${table}`,
  );
  return countsFromRow(counts as CountsRow);
}

/** Merges the staged records. A whole record replaces the stored one. Any other changes only the fields that it has. */
function mergeStaged(connection: Connection, importTable: Table<never>): void {
  const { table } = importTable;
  const names = Object.keys(importTable.columns);
  const isWhole = isWholeSql(importTable);
  connection.run(
    `INSERT INTO ${table} (id, ${names.join(", ")})
     SELECT id, ${names.join(", ")} FROM staged_${table} WHERE ${isWhole} ORDER BY id
     ON CONFLICT (id) DO UPDATE SET ${names.map((name) => `${name} = excluded.${name}`).join(", ")}`,
  );
  connection.run(
    `UPDATE ${table} SET ${names.map((name) => `${name} = ifnull(staged.${name}, ${table}.${name})`).join(", ")}
     FROM (SELECT * FROM staged_${table} WHERE NOT (${isWhole}) AND coalesce(${names.join(", ")}) IS NOT NULL) AS staged
     WHERE staged.id = ${table}.id`,
  );
}
