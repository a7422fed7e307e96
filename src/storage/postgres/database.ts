import { Connection } from "./connection/connection.ts";
import { type DatabaseAddress, DatabaseError } from "./connection/database-url.ts";
import { LostConnectionError, setupFaultOf, sqlStateOf } from "./connection/errors.ts";
import { migrate, presentSchema, readSchemaVersion, schemaVersion } from "./migrations.ts";

/** The `server_version_num` of the oldest supported version of PostgreSQL. */
const leastVersion = 150_000;

/**
 * How long the first connection may take, in milliseconds, with what it asks of the database until a migration begins.
 * A database out of reach is refused within 12 s.
 */
export const reachTimeoutMs = 8_000;

export interface PrepareOptions {
  /** What to do when the database has no store yet: make one (the default), or refuse. */
  readonly ifMissing?: "create" | "refuse" | undefined;
  /** Called once a new store has been made. */
  readonly created?: (() => void) | undefined;
}

/**
 * Prepares a database to be used as the store: makes or migrates the schema. Throws `DatabaseError`, and has changed
 * nothing then.
 */
export async function prepareDatabase(address: DatabaseAddress, options: PrepareOptions = {}): Promise<void> {
  const deadline = performance.now() + reachTimeoutMs;
  const present = await withConnection(address, async (connection) => {
    const version = await connection.within(deadline, async () => {
      await assertSupported(connection, address);
      return identify(connection, address);
    });
    if (version === 0 && options.ifMissing === "refuse") {
      throw new DatabaseError(`${address.shown}: there is no such store`);
    }
    if (version < schemaVersion) {
      await migrate(connection, deadline);
    }
    return version;
  });
  if (present === 0) {
    options.created?.();
  }
}

/**
 * Commits the work of a command. Throws `DatabaseError` where the connection is lost meanwhile. Nobody knows then what
 * has become of the work, so the error says what to do next.
 */
export async function commitOrDoubt(
  connection: Connection,
  { shown }: DatabaseAddress,
  { work, next }: { readonly work: string; readonly next: string },
): Promise<void> {
  try {
    await connection.commit();
  } catch (error) {
    if (await connection.within(performance.now() + reachTimeoutMs, () => connection.isAlive())) {
      throw error;
    }
    const doubt = `the connection was lost at the very end, and the ${work} is there as a whole or not at all`;
    throw new DatabaseError(`${shown}: ${doubt}; ${next}`, { cause: error });
  }
}

/** Opens a connection for some reads that take a moment. Throws `DatabaseError`, also where they take longer. */
export function lookInto<T>(address: DatabaseAddress, look: (connection: Connection) => Promise<T>): Promise<T> {
  const deadline = performance.now() + reachTimeoutMs;
  return withConnection(address, (connection) => connection.within(deadline, () => look(connection)));
}

/** Opens a connection for some work, also to a replica: see `assertSupported`. Throws `DatabaseError`. */
export async function withConnection<T>(
  address: DatabaseAddress,
  work: (connection: Connection) => Promise<T>,
): Promise<T> {
  try {
    const connection = await Connection.open(address, { takesReplica: true, timeoutMs: reachTimeoutMs });
    try {
      return await work(connection);
    } finally {
      await connection.close();
    }
  } catch (error) {
    throw toDatabaseError(error, address);
  }
}

/**
 * Returns the version of a store's schema; 0 for an empty database. Throws `DatabaseError` for a database of another
 * program, or of a newer version of this one.
 */
export async function identify(connection: Connection, address: DatabaseAddress): Promise<number> {
  const { shown } = address;
  const version = await readSchemaVersion(connection);
  if (version === undefined) {
    const [row] = await connection.query<{ found: boolean }>(
      `SELECT EXISTS (
         SELECT 1 FROM pg_class WHERE relnamespace = ${presentSchema} AND relkind IN ('r', 'p', 'v', 'm')
           AND NOT EXISTS (  -- an extension that it belongs to
             SELECT 1 FROM pg_depend WHERE classid = 'pg_class'::regclass AND objid = pg_class.oid AND deptype = 'e'
           )
       ) AS found`,
    );
    // Another server may have made the tables between the two looks.
    if (row?.found !== false && (await readSchemaVersion(connection)) === undefined) {
      throw new DatabaseError(`${shown}: has tables of another program, and is no pet store; name an empty database`);
    }
    return row?.found === false ? 0 : await identify(connection, address);
  }
  if (version > schemaVersion) {
    throw new DatabaseError(`${shown}: written by a newer version of petstore; use that one`);
  }
  return version;
}

interface SettingsRow {
  readonly version: string;
  readonly version_number: string;
  /** What the database has set: this program's own sessions may differ. */
  readonly synchronous_commit: string;
  readonly encoding: string;
  readonly is_replica: boolean;
  readonly is_read_only: string;
}

/** Throws `DatabaseError` for a server that cannot keep what the service promises. */
export async function assertSupported(connection: Connection, { shown }: DatabaseAddress): Promise<void> {
  const [row] = await connection.query<SettingsRow>(
    `SELECT current_setting('server_version') AS version, current_setting('server_version_num') AS version_number,
       (SELECT reset_val FROM pg_settings WHERE name = 'synchronous_commit') AS synchronous_commit,
       current_setting('server_encoding') AS encoding,
       pg_is_in_recovery() AS is_replica, current_setting('transaction_read_only') AS is_read_only`,
  );
  const settings = row as SettingsRow;
  const fault = faultOf(settings);
  if (fault !== undefined) {
    throw new DatabaseError(`${shown}: ${fault}`);
  }
}

function faultOf(settings: SettingsRow): string | undefined {
  if (Number(settings.version_number) < leastVersion) {
    return `is PostgreSQL ${settings.version}, and 15 is the oldest that petstore takes`;
  }
  if (settings.is_replica) {
    return "is a replica, which takes no writes; name the primary server";
  }
  if (settings.is_read_only === "on") {
    return "takes no writes (default_transaction_read_only is on)";
  }
  if (settings.synchronous_commit === "off") {
    return `has synchronous_commit=off, which loses updates that were acknowledged; set it to on`;
  }
  if (settings.encoding !== "UTF8") {
    return `has the encoding ${settings.encoding}, and must have UTF8`;
  }
  return undefined;
}

/** Plainer than PostgreSQL's own messages. Source: https://www.postgresql.org/docs/15/errcodes-appendix.html */
const reasons: Readonly<Record<string, string>> = {
  "28P01": "the user or the password is wrong",
  "28000": "the server does not let this user in from here",
  "3D000": "there is no such database",
  "3F000": "there is no schema in the search_path; make one",
  "53300": "has no connection left; raise max_connections",
  "55P03": "another process has locked the store, such as a copy or an import; try again when that has ended",
  "57P03": "the server is starting up or shutting down",
  "25006": "takes no writes",
};

/** Wraps any other error in a `DatabaseError` that names the database and the reason. */
export function toDatabaseError(error: unknown, { shown }: DatabaseAddress): DatabaseError {
  if (error instanceof DatabaseError) {
    return error;
  }
  const { message } = error as Error;
  if (/^SASL: .*password must be/.test(message)) {
    return new DatabaseError(`${shown}: asks for a password, which the URL lacks`, { cause: error });
  }
  const reason = error instanceof LostConnectionError ? `cannot be reached: ${message}` : message;
  const known = setupFaultOf(error) ?? reasons[sqlStateOf(error) ?? ""];
  return new DatabaseError(`${shown}: ${known ?? reason}`, { cause: error });
}
