import { existsSync } from "node:fs";
import type { ImportResult, Imports } from "../domain/import.ts";
import type { Store } from "../domain/store.ts";
import type { ReportProgress, StoreMaintenance } from "../domain/store-maintenance.ts";
import { isOlderStore } from "../storage/sqlite/database.ts";
import { acquireServerLock, StoreHeldError } from "../storage/sqlite/files/server-lock.ts";
import { StoreFileError } from "../storage/sqlite/files/store-path.ts";
import { previewImportInto } from "../storage/sqlite/import/import.ts";
import { SqliteMaintenance } from "../storage/sqlite/maintenance/maintenance.ts";
import { openSqliteStore, type SqliteStore } from "../storage/sqlite/store.ts";
import { printable } from "./print/printable.ts";

/** What a command does when the store is missing. */
export type IfMissing = "create" | "refuse";

/** Opens the store in a file, and closes it after use. Reports the creation of a store on stderr. */
export async function withStore<R>(file: string, ifMissing: IfMissing, use: (store: Store) => Promise<R>): Promise<R> {
  const isMissing = !existsSync(file);
  const store = await showMigration(file, async (migrating) => openSqliteStore(file, { ifMissing, migrating }));
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
    const store = await showMigration(file, async (migrating) => openSqliteStore(file, { lock, migrating }));
    return await closing(store, use);
  } finally {
    lock.release();
  }
}

/**
 * Opens the store in a file, by a function that reports how far its migration is. Shows that in a bar on stderr where the
 * store is older, and stderr a terminal.
 */
export async function showMigration<R>(file: string, open: (report?: ReportProgress) => Promise<R>): Promise<R> {
  if (!process.stderr.isTTY || !isOlderStore(file)) {
    return open();
  }
  // Loaded here only: it takes as long as a small command.
  const { withProgress } = await import("./print/progress.ts");
  return withProgress("migrating the store", open);
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

async function closing<R>(store: SqliteStore, use: (store: Store) => Promise<R>): Promise<R> {
  try {
    return await use(store);
  } finally {
    await store.close();
  }
}
