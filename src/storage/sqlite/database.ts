import { closeSync, mkdirSync, openSync, realpathSync, statSync } from "node:fs";
import { dirname } from "node:path";
import { Connection, type ConnectionOptions } from "./connection.ts";
import { isSameFile } from "./files/file-system.ts";
import { keptFileOf } from "./files/sidecar-files.ts";
import { applicationId, migrate, schemaVersion } from "./migrations.ts";
import { findSchemaFaults } from "./schema.ts";

export interface DatabaseOptions extends ConnectionOptions {
  /** What to do when there is no such file: to create it, and its folders (the default), or to refuse. */
  readonly ifMissing?: "create" | "refuse" | undefined;
}

/** Why a file cannot be used as the store. Its message is one line for the operator. */
export class StoreFileError extends Error {
  override readonly name = "StoreFileError";
}

/**
 * Makes a file ready to be used as the store: created where it is missing, of the present schema, in WAL mode. Returns
 * its one true path, with all symbolic links resolved. Throws `StoreFileError`, having changed nothing.
 */
export function prepareDatabase(file: string, options: DatabaseOptions = {}): string {
  try {
    const path = resolveStore(file, options.ifMissing ?? "create");
    const connection = new Connection(path, options);
    try {
      assertUsable(connection, file);
      connection.pragma("journal_mode = WAL");
      migrate(connection);
    } finally {
      connection.close();
    }
    return path;
  } catch (error) {
    throw toStoreFileError(error, file);
  }
}

/** The error that tells why a file cannot be used. */
export function toStoreFileError(error: unknown, file: string): StoreFileError {
  return error instanceof StoreFileError ? error : new StoreFileError(`${file}: ${reasonOf(error)}`, { cause: error });
}

/** Opens a prepared file. */
export function openDatabase(path: string, options: ConnectionOptions = {}): Connection {
  const connection = new Connection(path, options);
  connection.pragma("synchronous = FULL");
  // On macOS a plain fsync does not reach the disk.
  connection.pragma("fullfsync = ON");
  connection.pragma("foreign_keys = ON");
  // A damaged page is noticed as soon as it is read, and not by what its parts lead to.
  connection.pragma("cell_size_check = ON");
  // The log is written back every 16 MB, and not every 4: each time costs the writers two syncs and many scattered
  // writes.
  connection.pragma("wal_autocheckpoint = 4000");
  // A long export or backup lets the log grow: it is cut down again once they are done.
  connection.pragma("journal_size_limit = 67108864");
  return connection;
}

/**
 * The one true path of a database file, which is created (empty, for its owner alone) where it is missing. Throws
 * `StoreFileError`.
 */
export function resolveDatabase(file: string, ifMissing: "create" | "refuse"): string {
  try {
    return resolve(file, ifMissing);
  } catch (error) {
    throw toStoreFileError(error, file);
  }
}

function resolve(file: string, ifMissing: "create" | "refuse"): string {
  if (statSync(file, { throwIfNoEntry: false }) === undefined) {
    if (ifMissing === "refuse") {
      throw new StoreFileError(`${file}: there is no such store`);
    }
    makeFolderOf(file);
    // Only where it is missing: to close a file drops the locks that this process holds on it.
    closeSync(openSync(file, "a", 0o600));
  }
  if (!statSync(file).isFile()) {
    throw new StoreFileError(`${file}: not a file`);
  }
  const path = realpathSync(file);
  // The driver would take the white space away, and open another file.
  if (path !== path.trim()) {
    throw new StoreFileError(`${file}: the name of a store must not end in white space`);
  }
  return path;
}

function makeFolderOf(file: string): void {
  try {
    makeFolder(dirname(file));
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw code === "EEXIST" || code === "ENOTDIR"
      ? new StoreFileError(`${file}: a file stands where its folder should be; name another path`)
      : error;
  }
}

/**
 * Makes a folder, and the folders above it. Node's own recursive `mkdir` takes ENOENT for a missing parent and tries
 * again for ever where the parent exists but takes no folders, as /proc does.
 */
function makeFolder(folder: string): void {
  if (isFolder(folder)) {
    return;
  }
  const parent = dirname(folder);
  if (parent !== folder) {
    makeFolder(parent);
  }
  try {
    mkdirSync(folder);
  } catch (error) {
    // Another process may have made it in the meantime.
    if (!isFolder(folder)) {
      throw error;
    }
  }
}

function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
}

/**
 * As `resolveDatabase`, for a store that is to be written to. A file with a second name (a hard link) is refused:
 * SQLite keeps a log beside each name, and with two of them the store is soon corrupt. What a restore that was cut
 * short has left is let through, since nobody opens the other name.
 *
 * Source: https://sqlite.org/howtocorrupt.html#_multiple_links_to_the_same_file
 */
export function resolveStore(file: string, ifMissing: "create" | "refuse"): string {
  const path = resolveDatabase(file, ifMissing);
  const names = statSync(path).nlink - (isSameFile(path, keptFileOf(path)) ? 1 : 0);
  if (names > 1) {
    throw new StoreFileError(`${file}: has ${names} names (hard links), and may have one; remove the others`);
  }
  return path;
}

/** What a database is, by its marks alone: a pet store, or the empty file that is to become one. */
export type DatabaseState = "store" | "empty";

/** Throws `StoreFileError` when a database is not ours, or of a newer version. `file` is what messages call it. */
export function identify(connection: Connection, file: string): DatabaseState {
  return connection.asOfOneMoment(() => {
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

/** Throws `StoreFileError` for a database that is neither empty nor a store with the schema that it should have. */
export function assertUsable(connection: Connection, file: string): DatabaseState {
  return connection.asOfOneMoment(() => {
    const state = identify(connection, file);
    const [fault, ...others] = state === "empty" ? [] : findSchemaFaults(connection);
    if (fault !== undefined) {
      const rest = others.length === 0 ? "" : `, and ${others.length} more, which 'petstore check' tells`;
      throw new StoreFileError(`${file}: it is not sound: ${fault}${rest}`);
    }
    return state;
  });
}

/** What SQLite's own messages leave in the dark. Source: https://sqlite.org/rescode.html */
const reasons: Readonly<Record<string, string>> = {
  SQLITE_NOTADB: "not a SQLite database",
  SQLITE_CANTOPEN: "cannot be opened; see that whoever runs this may read and write it, and its folder",
  SQLITE_READONLY: "cannot be written; see that whoever runs this may write to it, and to its folder",
};

function reasonOf(error: unknown): string {
  const { code = "", message } = error as Error & { readonly code?: string };
  const [primary = ""] = /^SQLITE_[A-Z]+/.exec(code) ?? [];
  return reasons[primary] ?? message;
}
