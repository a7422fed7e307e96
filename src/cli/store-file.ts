import type { Store } from "../domain/store.ts";
import { openSqliteStore, type SqliteStore } from "../storage/sqlite/store.ts";

/** Opens the store in a file, which is created when it is missing, and closes it after use. */
export function withStore<R>(file: string, use: (store: Store) => Promise<R>): Promise<R> {
  return closing(openSqliteStore(file), use);
}

/** As `withStore`, for commands that have nothing to do without a store: a missing one is an error. */
export function withExistingStore<R>(file: string, use: (store: Store) => Promise<R>): Promise<R> {
  return closing(openSqliteStore(file, { ifMissing: "refuse" }), use);
}

async function closing<R>(store: SqliteStore, use: (store: Store) => Promise<R>): Promise<R> {
  try {
    return await use(store);
  } finally {
    await store.close();
  }
}
