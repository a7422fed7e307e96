import { type CopiedRow, type CopiedTable, type CopiedValue, copiedTables, type StoreHead } from "../../copy/tables.ts";
import { Connection, LostConnectionError, sqlStateOf } from "../connection/connection.ts";
import { DatabaseError } from "../connection/database-error.ts";
import type { DatabaseAddress } from "../connection/database-url.ts";
import { assertFit, reachTimeoutMs, toDatabaseError } from "../database.ts";
import { findLivingServer } from "../servers.ts";

/** A connection to one side of a copy. */
export interface OpenedSide {
  readonly address: DatabaseAddress;
  readonly connection: Connection;
  /** See `CopySide.identity`. */
  readonly identity: string;
}

/** Connects to one side of a copy. Throws `DatabaseError`. */
export async function openSide(address: DatabaseAddress): Promise<OpenedSide> {
  try {
    // `COPY` needs a connection that sends one statement at a time.
    const connection = await Connection.open(address, { isPipelined: false, timeoutMs: reachTimeoutMs });
    try {
      await assertFit(connection, address);
      return { address, connection, identity: await readIdentity(connection) };
    } catch (error) {
      await connection.close();
      throw error;
    }
  } catch (error) {
    throw toDatabaseError(error, address);
  }
}

/** A host has many names, and anybody may ask for these: the server's start in microseconds, the database, the schema. */
async function readIdentity(connection: Connection): Promise<string> {
  const [row] = await connection.query<{ identity: string }>(
    `SELECT 'postgres ' || extract(epoch FROM pg_postmaster_start_time()) || ' ' || oid || ' ' || current_schema()
       AS identity
     FROM pg_database WHERE datname = current_database()`,
  );
  return row?.identity ?? "";
}

/** Begins a transaction that may take long, and be silent meanwhile. It sees what is there once it has read anything. */
export async function beginLong(connection: Connection, mode = ""): Promise<void> {
  await connection.script(
    `BEGIN ${mode}; SET LOCAL idle_in_transaction_session_timeout = 0; SET LOCAL statement_timeout = 0`,
  );
}

/**
 * Keeps all others from writing to a store until the transaction ends. Throws `DatabaseError` while a server uses it.
 *
 * `LOCK` reads nothing: so a transaction that sees one moment sees one behind the last write.
 */
export async function lockUnserved(
  { connection, address }: OpenedSide,
  mode: "SHARE" | "EXCLUSIVE",
  consequence: string,
): Promise<void> {
  const tables = ["head", "servers", ...copiedTables.map(({ name }) => name)];
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
export async function* readRows(connection: Connection, table: CopiedTable): AsyncGenerator<CopiedRow[]> {
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

/** Texts in the order of their bytes, as other backends have them. */
function orderOf({ key, columns }: CopiedTable): string {
  return key.map((column) => (columns[column] === "text" ? `${column} COLLATE "C"` : column)).join(", ");
}

/** Hands on rows one by one. */
export async function* flatten(pieces: AsyncIterable<readonly CopiedRow[]>): AsyncGenerator<CopiedRow> {
  for await (const rows of pieces) {
    yield* rows;
  }
}

/** Reads what the history and the holds go on from. */
export async function readHead(connection: Connection): Promise<StoreHead> {
  const [head] = await connection.query<StoreHead>(`SELECT lineage, hold_position AS "holdPosition" FROM head`);
  return head as StoreHead;
}

/** Turns an error of the driver into a line for the operator. Returns other errors as they are. */
export function toCopyError(error: unknown, address: DatabaseAddress): unknown {
  if (error instanceof LostConnectionError) {
    const { message } = error.cause instanceof Error ? error.cause : error;
    const line = `${address.shown}: the connection was lost, and nothing has been copied: ${message}`;
    return new DatabaseError(line, { cause: error });
  }
  return sqlStateOf(error) === undefined ? error : toDatabaseError(error, address);
}
