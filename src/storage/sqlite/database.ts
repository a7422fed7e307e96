import { existsSync } from "node:fs";
import type { ReportProgress } from "../../domain/store.ts";
import { Connection, type ConnectionOptions } from "./connection.ts";
import { applicationId, createSchema, hasOlderSchema, migrate, schemaVersion } from "./migrations.ts";
import { lockUnserved, type ServerLock } from "./server-lock.ts";
import { resolveStore, StoreFileError, toStoreFileError } from "./store-file.ts";

export interface DatabaseOptions extends ConnectionOptions {
  /** What to do when the file is missing: create it and its folders (the default), or refuse. */
  readonly ifMissing?: "create" | "refuse" | undefined;
  /**
   * The right to serve the store, where the caller has it. Without it, a store is only migrated while no server uses
   * it.
   */
  readonly lock?: ServerLock | undefined;
  /** Called once a new store has been made. */
  readonly created?: (() => void) | undefined;
  /** Hears how many rows of an older store's tables have been migrated. */
  readonly migrating?: ReportProgress | undefined;
}

/**
 * Prepares a file to be used as the store: creates a missing one, migrates an older one, and sets WAL mode. Returns its
 * real path, without symbolic links. Throws `StoreFileError`, and has changed nothing then.
 */
export function prepareDatabase(file: string, options: DatabaseOptions = {}): string {
  try {
    const path = resolveStore(file, options.ifMissing ?? "create");
    const connection = new Connection(path, options);
    try {
      const state = assertUsable(connection, file);
      if (state === "empty" && options.ifMissing === "refuse") {
        throw new StoreFileError(`${file}: empty, and no store yet`);
      }
      connection.pragma("journal_mode = WAL");
      migrateUnserved(connection, file, options);
      if (state === "empty") {
        options.created?.();
      }
    } finally {
      connection.close();
    }
    return path;
  } catch (error) {
    throw toStoreFileError(error, file);
  }
}

/**
 * Whether a file has a store of an older version, which `prepareDatabase` would migrate. False also for a file that
 * cannot be opened.
 */
export function isOlderStore(file: string): boolean {
  if (!existsSync(file)) {
    return false;
  }
  try {
    const connection = new Connection(resolveStore(file, "refuse"));
    try {
      return hasOlderSchema(connection);
    } finally {
      connection.close();
    }
  } catch {
    return false;
  }
}

/** Migrates a store that no server uses: a server of an older version could not go on after the migration. */
function migrateUnserved(connection: Connection, file: string, { lock, migrating }: DatabaseOptions): void {
  const ending = " with an older version of petstore; use that one, or end the server";
  const ownLock = lock === undefined && hasOlderSchema(connection) ? lockUnserved(file, ending) : undefined;
  try {
    migrate(connection, migrating);
  } finally {
    ownLock?.release();
  }
}

/** Opens a prepared file. */
export function openDatabase(path: string, options: ConnectionOptions = {}): Connection {
  const connection = new Connection(path, options);
  connection.pragma("synchronous = FULL");
  // On macOS a plain fsync does not reach the disk.
  connection.pragma("fullfsync = ON");
  connection.pragma("foreign_keys = ON");
  // A damaged page is noticed as soon as it is read.
  connection.pragma("cell_size_check = ON");
  // A checkpoint writes the log back every 16 MB, not every 4 MB. Each checkpoint costs the writers two syncs and many
  // scattered writes.
  connection.pragma("wal_autocheckpoint = 4000");
  // The log grows during a long export or backup. It is cut down to this size afterwards.
  connection.pragma("journal_size_limit = 67108864");
  return connection;
}

/** What a database is by its marks: a pet store, or an empty file that can become one. */
type DatabaseState = "store" | "empty";

/** Throws `StoreFileError` when a database is not ours, or is of a newer version. `file` is its name in messages. */
export function identify(connection: Connection, file: string): DatabaseState {
  return connection.inSnapshot(() => {
    const id = Number(connection.pragma("application_id"));
    const version = Number(connection.pragma("user_version"));
    const isBlank = version === 0 && connection.get("SELECT 1 FROM sqlite_schema") === undefined;
    if (id !== applicationId && !(id === 0 && isBlank)) {
      throw new StoreFileError(`${file}: a SQLite database, but not a pet store`);
    }
    if (version > schemaVersion) {
      throw new StoreFileError(`${file}: written by a newer version of petstore; use that one`);
    }
    return id === 0 ? "empty" : "store";
  });
}

/** As `identify`. It also throws `StoreFileError` for a store whose schema is not the one of its version. */
export function assertUsable(connection: Connection, file: string): DatabaseState {
  return connection.inSnapshot(() => {
    const state = identify(connection, file);
    const [fault, ...others] = state === "empty" ? [] : findSchemaFaults(connection);
    if (fault !== undefined) {
      const rest = others.length === 0 ? "" : `, and ${others.length} more, which 'petstore check' tells`;
      throw new StoreFileError(`${file}: it is not sound: ${fault}${rest}`);
    }
    return state;
  });
}

interface SchemaRow {
  readonly type: string;
  readonly name: string;
  /** The table of an index or a trigger. */
  readonly table: string;
  readonly sql: string;
}

/**
 * Returns how a store differs from the schema of its version, a line for each difference: what is missing, what is not
 * the same, what only a later version has, and what others have added. A foreign trigger would run with our updates.
 * Tables of other programs, such as Litestream's, are allowed.
 */
export function findSchemaFaults(connection: Connection): string[] {
  return connection.inSnapshot(() => {
    const version = Number(connection.pragma("user_version"));
    if (version < 1 || version > schemaVersion) {
      return [`it is marked as version ${version} of the schema; there are 1 to ${schemaVersion}`];
    }
    const [expected, last, present] = [expectedSchema(version), expectedSchema(schemaVersion), schemaOf(connection)];
    const others = present.filter((row) => rowLike(row, expected) === undefined);
    return [
      ...expected.flatMap((row) => tellDifference(row, rowLike(row, present))),
      ...others.flatMap((row) =>
        rowLike(row, last) === undefined
          ? describeForeign(row, last)
          : `${describe(row)} is of a later version than ${version}, as which the store is marked`,
      ),
    ];
  });
}

/** The names of petstore's own tables in a store, without those that other programs have added. */
export function ownTables(connection: Connection): string[] {
  const expected = expectedSchema(Number(connection.pragma("user_version")));
  const own = schemaOf(connection).filter((row) => row.type === "table" && rowLike(row, expected) !== undefined);
  return own.map(({ name }) => name);
}

function tellDifference(expected: SchemaRow, present: SchemaRow | undefined): string[] {
  if (present?.sql === expected.sql) {
    return [];
  }
  return [`${describe(expected)} is ${present === undefined ? "missing" : "not as petstore makes it"}`];
}

/** Other programs may have tables of their own with indexes, and nothing else. */
function describeForeign(row: SchemaRow, ours: readonly SchemaRow[]): string[] {
  const isTheirs = row.type === "table" || (row.type === "index" && !ours.some(({ name }) => name === row.table));
  return isTheirs ? [] : [`${describe(row)} is not petstore's`];
}

function describe({ type, name }: SchemaRow): string {
  return `the ${type} ${name}`;
}

function rowLike({ name }: SchemaRow, rows: readonly SchemaRow[]): SchemaRow | undefined {
  return rows.find((row) => row.name === name);
}

/** The schema that the migrations make. */
function expectedSchema(version: number): SchemaRow[] {
  const connection = new Connection(":memory:");
  try {
    createSchema(connection, version);
    return schemaOf(connection);
  } finally {
    connection.close();
  }
}

/** Without the objects that SQLite makes itself, such as the index of a primary key, or the table of sequences. */
function schemaOf(connection: Connection): SchemaRow[] {
  return connection.all<SchemaRow>(
    `SELECT type, name, tbl_name AS "table", sql FROM sqlite_schema WHERE name NOT LIKE 'sqlite\\_%' ESCAPE '\\'
     ORDER BY rowid`,
  );
}
