import { existsSync } from "node:fs";
import type { ImportResult, Imports } from "../domain/import.ts";
import type { Store } from "../domain/store.ts";
import type { StoreMaintenance } from "../domain/store-maintenance.ts";
import { StoreFileError } from "../storage/sqlite/database.ts";
import { acquireServerLock, StoreHeldError } from "../storage/sqlite/files/server-lock.ts";
import { previewImportInto } from "../storage/sqlite/import/import-preview.ts";
import { SqliteMaintenance } from "../storage/sqlite/maintenance/maintenance.ts";
import { openSqliteStore, type SqliteStore } from "../storage/sqlite/store.ts";
import { printable } from "./print/printable.ts";

/** What a command does to a store that is missing: it makes one, or has nothing to do without one. */
export type IfMissing = "create" | "refuse";

/** Opens the store in a file, and closes it after use. Says so on stderr when it has made the store. */
export function withStore<R>(file: string, ifMissing: IfMissing, use: (store: Store) => Promise<R>): Promise<R> {
  const isMissing = !existsSync(file);
  const store = openSqliteStore(file, { ifMissing });
  if (isMissing) {
    process.stderr.write(`${printable(`petstore: made a new store, ${file}`)}\n`);
  }
  return closing(store, use);
}

/** As `withStore`, for commands that have nothing to do without a store: a missing one is an error. */
export function withExistingStore<R>(file: string, use: (store: Store) => Promise<R>): Promise<R> {
  return withStore(file, "refuse", use);
}

/**
 * Opens the store in a file, which is created when it is missing, while nobody can serve it. Throws `StoreHeldError`
 * when somebody does.
 */
export async function withUnservedStore<R>(file: string, use: (store: Store) => Promise<R>): Promise<R> {
  const lock = acquireServerLock(file);
  try {
    return await closing(openSqliteStore(file), use);
  } finally {
    lock.release();
  }
}

/** Tells what an import into the store in a file would do, and changes nothing: a missing store is not made. */
export function previewImport(file: string, ifMissing: IfMissing, imports: Imports): Promise<ImportResult> {
  return previewImportInto(file, imports, { ifMissing });
}

/** Maintains the store in a file, be it fit for use or not. */
export function maintenanceOf(file: string): StoreMaintenance {
  return new SqliteMaintenance(file);
}

/** Whether an error tells why a file cannot be used as the store, in a line for whoever runs the command. */
export function isStoreFileError(error: unknown): boolean {
  return error instanceof StoreFileError || error instanceof StoreHeldError;
}

async function closing<R>(store: SqliteStore, use: (store: Store) => Promise<R>): Promise<R> {
  try {
    return await use(store);
  } finally {
    await store.close();
  }
}
