import {
  type CopiedRow,
  type CopiedTable,
  type CopiedValue,
  type CopySide,
  type CopySource,
  type CopyTarget,
  copiedTables,
  type StoreHead,
} from "../copy.ts";
import { Connection } from "./connection/connection.ts";
import { copyRows } from "./connection/copy-rows.ts";
import { type DatabaseAddress, DatabaseError, parseDatabaseUrl } from "./connection/database-url.ts";
import { LostConnectionError, sqlStateOf } from "./connection/errors.ts";
import { assertSupported, commitOrDoubt, identify, reachTimeoutMs, toDatabaseError } from "./database.ts";
import { migrateAlone, schemaVersion } from "./migrations.ts";
import { findLivingServer } from "./servers.ts";

/**
 * Opens the store in a database, to copy it. Until the source is disposed of, no server can begin to use the store, and
 * other writers fail after the 5 s of the lock timeout. Throws `DatabaseError` while a server uses the store, and for a
 * database that is no store of this version.
 */
export async function openPostgresSource(url: string): Promise<CopySource> {
  const side = await openSide(parseDatabaseUrl(url));
  try {
    await assertCopyable(side);
    await side.connection.beginLong("ISOLATION LEVEL REPEATABLE READ, READ ONLY");
    await lockUnserved(side, "SHARE", ": what it writes from now on would be missing in the copy");
    return new PostgresSource(side);
  } catch (error) {
    await side.connection.close();
    throw toDatabaseError(error, side.address);
  }
}

async function assertCopyable({ connection, address }: OpenedSide): Promise<void> {
  const version = await identify(connection, address);
  if (version === 0) {
    throw new DatabaseError(`${address.shown}: there is no such store`);
  }
  if (version < schemaVersion) {
    throw new DatabaseError(
      `${address.shown}: written by an older version of petstore; start a server on it once, which migrates it, and end that first`,
    );
  }
}

/** One side of a copy. It runs in one transaction, which ends with the connection at the latest. */
class PostgresSide implements CopySide {
  readonly shown: string;
  readonly identity: string;
  protected readonly side: OpenedSide;

  constructor(side: OpenedSide) {
    this.shown = side.address.shown;
    this.identity = side.identity;
    this.side = side;
  }

  async *read(table: CopiedTable): AsyncGenerator<CopiedRow[]> {
    try {
      yield* readRows(this.side.connection, table);
    } catch (error) {
      throw toCopyError(error, this.side.address);
    }
  }

  readHead(): Promise<StoreHead> {
    return this.run(({ connection }) => readHead(connection));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.side.connection.close();
  }

  protected async run<T>(work: (side: OpenedSide) => Promise<T>): Promise<T> {
    try {
      return await work(this.side);
    } catch (error) {
      throw toCopyError(error, this.side.address);
    }
  }
}

/** A connection to one side of a copy. */
interface OpenedSide {
  readonly address: DatabaseAddress;
  readonly connection: Connection;
  /** See `CopySide.identity`. */
  readonly identity: string;
}

class PostgresSource extends PostgresSide implements CopySource {
  async countRows(): Promise<number> {
    const counts = copiedTables.map(({ name }) => `(SELECT count(*) FROM ${name})`);
    const [row] = await this.run(({ connection }) =>
      connection.query<{ rows: bigint }>(`SELECT ${counts.join(" + ")} AS rows`),
    );
    return Number(row?.rows);
  }
}

/**
 * Opens the database of a store to be made by a copy. It may be empty, or a store with nothing in it. Throws
 * `DatabaseError`.
 */
export async function openPostgresTarget(url: string): Promise<CopyTarget> {
  return new PostgresTarget(await openSide(parseDatabaseUrl(url)));
}

class PostgresTarget extends PostgresSide implements CopyTarget {
  async begin(): Promise<void> {
    const { connection, address } = this.side;
    try {
      await connection.beginLong();
      await identify(connection, address);
      await migrateAlone(connection);
      await lockUnserved(this.side, "EXCLUSIVE", "");
      await assertEmpty(this.side);
    } catch (error) {
      throw toDatabaseError(error, address);
    }
  }

  write(table: CopiedTable, pieces: AsyncIterable<readonly CopiedRow[]>): Promise<void> {
    const columns = Object.keys(table.columns).join(", ");
    return this.run(({ connection }) => copyRows(connection, `${table.name} (${columns})`, flatten(pieces)));
  }

  finish(head: StoreHead): Promise<void> {
    return this.run(async ({ connection }) => {
      await writeHead(connection, head);
      await advanceSequences(connection);
      // Without statistics the first plans would assume that the tables are empty.
      await connection.script(`ANALYZE ${copiedTables.map(({ name }) => name).join(", ")}`);
    });
  }

  commit(): Promise<void> {
    const doubt = { work: "copy", next: "run it again, which refuses if it is there" };
    return this.run(({ connection, address }) => commitOrDoubt(connection, address, doubt));
  }
}

/** Throws `DatabaseError`. */
async function assertEmpty({ connection, address }: OpenedSide): Promise<void> {
  const looks = copiedTables.map(({ name }) => `SELECT '${name}' AS name WHERE EXISTS (SELECT 1 FROM ${name})`);
  const filled = await connection.query<{ name: string }>(looks.join(" UNION ALL "));
  if (filled.length > 0) {
    const names = filled.map(({ name }) => name).join(", ");
    throw new DatabaseError(`${address.shown}: the store already has ${names}; name an empty database to copy to`);
  }
}

async function writeHead(connection: Connection, { lineage, holdPosition }: StoreHead): Promise<void> {
  await connection.query(
    `UPDATE head SET lineage = $1, hold_position = $2, revision = (SELECT coalesce(max(changes.revision), 0) FROM changes)`,
    lineage,
    holdPosition,
  );
}

/** Sets the sequences, so that the next number follows those that were copied. */
async function advanceSequences(connection: Connection): Promise<void> {
  for (const table of ["keys", "webhooks", "webhook_attempts"]) {
    await connection.query(
      `SELECT setval(pg_get_serial_sequence('${table}', 'number'), max(number)) FROM ${table} HAVING count(*) > 0`,
    );
  }
}

/** Connects to one side of a copy. Throws `DatabaseError`. */
async function openSide(address: DatabaseAddress): Promise<OpenedSide> {
  try {
    // `COPY` needs a connection that sends one statement at a time.
    const options = { isPipelined: false, takesReplica: true, timeoutMs: reachTimeoutMs };
    const connection = await Connection.open(address, options);
    try {
      await assertSupported(connection, address);
      return { address, connection, identity: await readIdentity(connection) };
    } catch (error) {
      await connection.close();
      throw error;
    }
  } catch (error) {
    throw toDatabaseError(error, address);
  }
}

/**
 * Identifies a store by the server's start in microseconds, the database and the schema. Every user may read these, and
 * they do not depend on the name of the host.
 */
async function readIdentity(connection: Connection): Promise<string> {
  const [row] = await connection.query<{ identity: string }>(
    `SELECT 'postgres ' || extract(epoch FROM pg_postmaster_start_time()) || ' ' || oid || ' ' || current_schema()
       AS identity
     FROM pg_database WHERE datname = current_database()`,
  );
  return row?.identity ?? "";
}

/**
 * Keeps all others from writing to a store until the transaction ends. Throws `DatabaseError` while a server uses it.
 *
 * `LOCK` takes no snapshot. So the snapshot of a REPEATABLE READ transaction comes after the last write of others. It
 * locks the tables one by one: first those that an import locks first, so that the two cannot wait for each other.
 */
async function lockUnserved(
  { connection, address }: OpenedSide,
  mode: "SHARE" | "EXCLUSIVE",
  consequence: string,
): Promise<void> {
  const tables = ["pets", "orders", "head", "servers", ...copiedTables.map(({ name }) => name)];
  await connection.command(`LOCK TABLE ${tables.join(", ")} IN ${mode} MODE`);
  const server = await findLivingServer(connection);
  if (server !== undefined) {
    throw new DatabaseError(
      `${address.shown}: server ${server.id} uses it; end that server first${consequence} (one that was killed counts as ended after 6 s)`,
    );
  }
}

/** How many rows are fetched at once. */
const rowsPerFetch = 1_000;

/** Reads the rows of a table by ascending key. To be called in a transaction. */
async function* readRows(connection: Connection, table: CopiedTable): AsyncGenerator<CopiedRow[]> {
  const { name, columns } = table;
  const names = Object.keys(columns);
  await connection.script(
    `DECLARE copied_${name} NO SCROLL CURSOR FOR SELECT ${names.join(", ")} FROM ${name} ORDER BY ${orderOf(table)}`,
  );
  for (let isMore = true; isMore; ) {
    const rows = await connection.query<Record<string, CopiedValue>>(`FETCH ${rowsPerFetch} FROM copied_${name}`);
    yield rows.map((row) => names.map((column) => row[column] ?? null));
    isMore = rows.length === rowsPerFetch;
  }
  await connection.script(`CLOSE copied_${name}`);
}

/** Orders texts by their bytes, as other backends do. */
function orderOf({ key, columns }: CopiedTable): string {
  return key.map((column) => (columns[column] === "text" ? `${column} COLLATE "C"` : column)).join(", ");
}

/** Passes rows on one by one. */
async function* flatten(pieces: AsyncIterable<readonly CopiedRow[]>): AsyncGenerator<CopiedRow> {
  for await (const rows of pieces) {
    yield* rows;
  }
}

/** Reads the lineage of the history, and the position of the newest hold. */
async function readHead(connection: Connection): Promise<StoreHead> {
  const [head] = await connection.query<StoreHead>(`SELECT lineage, hold_position AS "holdPosition" FROM head`);
  return head as StoreHead;
}

/** Turns an error of the driver into a line for the operator. Returns other errors as they are. */
function toCopyError(error: unknown, address: DatabaseAddress): unknown {
  if (error instanceof LostConnectionError) {
    const { message } = error.cause instanceof Error ? error.cause : error;
    const line = `${address.shown}: the connection was lost, and nothing has been copied: ${message}`;
    return new DatabaseError(line, { cause: error });
  }
  return sqlStateOf(error) === undefined ? error : toDatabaseError(error, address);
}
