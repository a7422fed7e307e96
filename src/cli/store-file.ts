import type { ReportProgress, Store } from "../domain/store.ts";
import { type CheckDepth, checkDatabase } from "../storage/sqlite/check.ts";
import { StoreFileError } from "../storage/sqlite/database.ts";
import { restoreDatabase } from "../storage/sqlite/restore.ts";
import { acquireServerLock, StoreHeldError } from "../storage/sqlite/server-lock.ts";
import { openSqliteStore, type SqliteStore } from "../storage/sqlite/store.ts";

/** Opens the store in a file, which is created when it is missing, and closes it after use. */
export function withStore<R>(file: string, use: (store: Store) => Promise<R>): Promise<R> {
  return closing(openSqliteStore(file), use);
}

/** As `withStore`, for commands that have nothing to do without a store: a missing one is an error. */
export function withExistingStore<R>(file: string, use: (store: Store) => Promise<R>): Promise<R> {
  return closing(openSqliteStore(file, { ifMissing: "refuse" }), use);
}

/** As `withStore`, while nobody can serve the store. Throws `StoreHeldError` when somebody does. */
export async function withUnservedStore<R>(file: string, use: (store: Store) => Promise<R>): Promise<R> {
  const lock = acquireServerLock(file);
  try {
    return await withStore(file, use);
  } finally {
    lock.release();
  }
}

export type { CheckDepth } from "../storage/sqlite/check.ts";

/** What is wrong with the store in a file, a line for each fault. */
export function checkStoreFile(file: string, depth: CheckDepth, report: ReportProgress): Promise<string[]> {
  return checkDatabase(file, depth, report);
}

/** Puts a backup in the place of the store in a file. Returns the name under which that is kept, if there was one. */
export function restoreStoreFile(backup: string, file: string, report: ReportProgress): Promise<string | undefined> {
  return restoreDatabase(backup, file, report);
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
