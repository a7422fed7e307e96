import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openSqliteStore, type SqliteStore, type SqliteWriterOptions } from "../../src/storage/sqlite/store.ts";
import type { OpenedStore } from "./opened-store.ts";

/** Opens a store in a new SQLite file. */
export async function openNewSqlite(options: SqliteWriterOptions): Promise<OpenedStore> {
  const folder = mkdtempSync(join(tmpdir(), "petstore-"));
  const file = join(folder, "petstore.db");
  const opened: SqliteStore[] = [];
  const open = async () => {
    const store = openSqliteStore(file, options);
    opened.push(store);
    return store;
  };
  const closeAll = async () => {
    await Promise.all(opened.splice(0).map((store) => store.close()));
  };
  return {
    store: await open(),
    openAnother: open,
    reopen: async () => {
      await closeAll();
      return open();
    },
    close: async () => {
      await closeAll();
      rmSync(folder, { recursive: true });
    },
  };
}
