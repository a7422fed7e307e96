import { existsSync } from "node:fs";
import type { ImportResult, Imports } from "../domain/import.ts";
import type { Store } from "../domain/store.ts";
import type { StoreMaintenance } from "../domain/store-maintenance.ts";
import { Connection } from "../storage/sqlite/connection.ts";
import { identify } from "../storage/sqlite/database.ts";
import { acquireServerLock, StoreHeldError } from "../storage/sqlite/files/server-lock.ts";
import { StoreFileError } from "../storage/sqlite/files/store-path.ts";
import { previewImportInto } from "../storage/sqlite/import/import.ts";
import { SqliteMaintenance } from "../storage/sqlite/maintenance/maintenance.ts";
import { schemaVersion } from "../storage/sqlite/migrations.ts";
import { openSqliteStore, type SqliteStore } from "../storage/sqlite/store.ts";
import { printable } from "./print/printable.ts";

/** What a command does when the store is missing. */
export type IfMissing = "create" | "refuse";

/** Opens the store in a file, and closes it after use. Reports the creation of a store on stderr. */
export function withStore<R>(file: string, ifMissing: IfMissing, use: (store: Store) => Promise<R>): Promise<R> {
  const isMissing = !existsSync(file);
  if (!isMissing && isOlder(file)) {
    assertUnserved(file);
  }
  const store = openSqliteStore(file, { ifMissing });
  if (isMissing) {
    process.stderr.write(`${printable(`petstore: created a new store, ${file}`)}\n`);
  }
  return closing(store, use);
}

/** As `withStore`, but a missing store is an error. */
export function withExistingStore<R>(file: string, use: (store: Store) => Promise<R>): Promise<R> {
  return withStore(file, "refuse", use);
}

/**
 * Opens the store in a file, or creates it, and keeps servers from using it meanwhile. Throws `StoreHeldError` when a
 * server uses it.
 */
export async function withUnservedStore<R>(file: string, use: (store: Store) => Promise<R>): Promise<R> {
  const lock = acquireServerLock(file);
  try {
    return await closing(openSqliteStore(file), use);
  } finally {
    lock.release();
  }
}

/** Returns what an import into the store in a file would do. Changes nothing, and creates no store. */
export function previewImport(file: string, ifMissing: IfMissing, imports: Imports): Promise<ImportResult> {
  return previewImportInto(file, imports, { ifMissing });
}

/** The maintenance of the store in a file, which may be damaged or missing. */
export function maintenanceOf(file: string): StoreMaintenance {
  return new SqliteMaintenance(file);
}

/** Whether the message of an error says why a file cannot be used as the store. */
export function isStoreFileError(error: unknown): boolean {
  return error instanceof StoreFileError || error instanceof StoreHeldError;
}

/** Whether a file is a store that is migrated when it is opened. False for what cannot be opened: that says why. */
function isOlder(file: string): boolean {
  try {
    const connection = new Connection(file);
    try {
      return identify(connection, file) === "store" && Number(connection.pragma("user_version")) < schemaVersion;
    } finally {
      connection.close();
    }
  } catch {
    return false;
  }
}

/** Throws `StoreFileError` when a server uses an older store: it does not know what a migration makes of it. */
function assertUnserved(file: string): void {
  try {
    acquireServerLock(file).release();
  } catch (error) {
    throw error instanceof StoreHeldError
      ? new StoreFileError(
          `${file}: served by an older version, as process ${error.pid}; stop it first, or use that version`,
        )
      : error;
  }
}

async function closing<R>(store: SqliteStore, use: (store: Store) => Promise<R>): Promise<R> {
  try {
    return await use(store);
  } finally {
    await store.close();
  }
}
