import { type ImportResult, type Imports, maxStrayPets, type StrayOrders } from "../../../domain/import.ts";
import { anyWriter, countChanges } from "../change-counts.ts";
import { Connection, fromDriverError, type Queryable } from "../connection/connection.ts";
import { DatabaseError } from "../connection/database-error.ts";
import { type DatabaseAddress, parseDatabaseUrl } from "../connection/database-url.ts";
import { identify, type PrepareOptions, withConnection } from "../database.ts";
import { importLock } from "../locks.ts";
import { takeSteps } from "../migrations.ts";
import { lockHead } from "../writer/gather.ts";
import { countStaged, mergeStaged, orderImport, petImport, stageAll } from "./staging.ts";

/**
 * Imports all of the pets and orders, or none, over a connection of its own. Slow input keeps nobody from writing: the
 * records are gathered in temporary tables. Then imports wait for one another, because they alone write pets and orders;
 * other writers wait only while the stock is merged.
 */
export function importAll(address: DatabaseAddress, imports: Imports, nowMs: number): Promise<ImportResult> {
  return staging(address, imports, async (connection) => {
    await connection.query(`SELECT pg_advisory_xact_lock($1)`, importLock);
    const result = await describe(connection);
    await mergeStaged(connection, petImport);
    await mergeStaged(connection, orderImport);
    await mergeStock(connection, nowMs);
    if (hasChanges(result)) {
      await countChanges(connection, anyWriter, "stock", 1);
    }
    await connection.commit();
    return result;
  });
}

/**
 * Returns what an import into a database would do, and changes nothing: makes no store, and migrates none. Throws what
 * the import would throw, and `DatabaseError`.
 */
export async function previewImportInto(
  url: string,
  imports: Imports,
  { ifMissing = "create" }: Pick<PrepareOptions, "ifMissing"> = {},
): Promise<ImportResult> {
  const address = parseDatabaseUrl(url);
  const version = await withConnection(address, (connection) => identify(connection, address));
  if (version === 0 && ifMissing === "refuse") {
    throw new DatabaseError(`${address.shown}: there is no such store`);
  }
  return staging(address, imports, async (connection) => {
    // Where there is no store, one is made in the transaction, which is not committed.
    await takeSteps(connection, version);
    return describe(connection);
  });
}

function hasChanges({ pets, orders }: ImportResult): boolean {
  return [pets, orders].some(({ created, replaced, changed }) => created + replaced + changed > 0);
}

/** Gathers the records in a transaction, which the work may commit. */
async function staging<T>(
  address: DatabaseAddress,
  { pets = [], orders = [] }: Imports,
  work: (connection: Connection) => Promise<T>,
): Promise<T> {
  try {
    // `COPY` needs a connection that sends one statement at a time.
    const connection = await Connection.open(address, { isPipelined: false });
    try {
      await connection.script(
        `BEGIN; SET LOCAL idle_in_transaction_session_timeout = 0; SET LOCAL lock_timeout = '60s'`,
      );
      await stageAll(connection, petImport, pets);
      await stageAll(connection, orderImport, orders);
      return await work(connection);
    } finally {
      // A transaction that was not committed is rolled back with the connection.
      await connection.close();
    }
  } catch (error) {
    throw fromDriverError(error);
  }
}

/** Throws `UnknownRecordError`. */
async function describe(connection: Connection): Promise<ImportResult> {
  return {
    pets: await countStaged(connection, petImport),
    orders: await countStaged(connection, orderImport),
    strays: await findStrays(connection),
  };
}

/** An order that is imported without a `petId` keeps the one that it has, and is no stray. */
async function findStrays(connection: Connection): Promise<StrayOrders> {
  const rows = await connection.query<{ pet_id: bigint; orders: bigint }>(
    `SELECT pet_id, count(*) AS orders FROM staged_orders
     WHERE pet_id IS NOT NULL AND NOT EXISTS (SELECT 1 FROM pets WHERE id = pet_id)
       AND NOT EXISTS (SELECT 1 FROM staged_pets WHERE staged_pets.id = pet_id)
     GROUP BY pet_id ORDER BY pet_id`,
  );
  return {
    count: rows.reduce((sum, { orders }) => sum + Number(orders), 0),
    petCount: rows.length,
    petIds: rows.slice(0, maxStrayPets).map((row) => row.pet_id),
  };
}

/**
 * Writes the gathered pets' stock, and a change of the history for each pet whose quantity or status is written, in the
 * order of their ids, under the lock of the head. Each statement works on a whole set of rows, because an import may be
 * of a million pets.
 */
export async function mergeStock(connection: Queryable, nowMs: number): Promise<void> {
  const { revision: head } = await lockHead(connection);
  await connection.query(
    `INSERT INTO changes (revision, pet_id, before, after, kind, occurred_at_ms)
     SELECT $1 + row_number() OVER (ORDER BY id), id, stock.quantity, coalesce(staged.quantity, stock.quantity),
       'import', $2
     FROM staged_pets AS staged LEFT JOIN stock ON pet_id = id
     WHERE staged.quantity IS NOT NULL OR staged.status IS NOT NULL
     ORDER BY id`,
    head,
    BigInt(nowMs),
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
