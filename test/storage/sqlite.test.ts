import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openSqliteStore, type SqliteStore } from "../../src/storage/sqlite/store.ts";
import type { OpenedStore } from "./opened-store.ts";
import { describeStore } from "./suite.ts";

describeStore("the SQLite store", async (): Promise<OpenedStore> => {
  const folder = mkdtempSync(join(tmpdir(), "petstore-"));
  const file = join(folder, "petstore.db");
  const opened: SqliteStore[] = [];
  const open = async () => {
    const store = openSqliteStore(file);
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
});
