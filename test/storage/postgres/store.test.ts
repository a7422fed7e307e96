import { describe, it } from "vitest";
import { openPostgresStore, type PostgresStore } from "../../../src/storage/postgres/store.ts";
import { borrowDatabase } from "../../support/postgres/databases.ts";
import { postgresMissing, postgresPrograms } from "../../support/postgres/programs.ts";
import type { OpenedStore } from "../opened-store.ts";
import { describeStore } from "../suite.ts";

async function open(): Promise<OpenedStore> {
  const database = await borrowDatabase();
  const opened: PostgresStore[] = [];
  const openAnother = async () => {
    const store = await openPostgresStore(database.url);
    opened.push(store);
    return store;
  };
  const closeAll = async () => {
    await Promise.all(opened.splice(0).map((store) => store.close()));
  };
  return {
    store: await openAnother(),
    openAnother,
    reopen: async () => {
      await closeAll();
      return openAnother();
    },
    close: async () => {
      await closeAll();
      await database.remove();
    },
  };
}

if (postgresPrograms === undefined) {
  describe("the PostgreSQL store", () => it.skip(postgresMissing, () => {}));
} else {
  describeStore("the PostgreSQL store", open, ["maintenance"]);
}
