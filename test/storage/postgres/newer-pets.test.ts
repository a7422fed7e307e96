import { describe, expect, it, onTestFinished, vi } from "vitest";
import { Connection } from "../../../src/storage/postgres/connection/connection.ts";
import { openPostgresStore } from "../../../src/storage/postgres/store.ts";
import { borrowDatabase } from "../../support/postgres/databases.ts";
import { postgresPrograms } from "../../support/postgres/programs.ts";
import { createPet } from "../samples.ts";

describe.skipIf(postgresPrograms === undefined)("a page as of a revision", () => {
  it("skips many newer pets in few round trips", async () => {
    const database = await borrowDatabase();
    const store = await openPostgresStore(database.url);
    onTestFinished(async () => {
      await store.close();
      await database.remove();
    });
    const pets = Array.from({ length: 5_000 }, (_, id) => createPet({ id: BigInt(id) }));
    await store.importAll({ pets: pets.slice(0, 99) }, 0);
    await store.importAll({ pets: pets.slice(99) }, 0);
    const statements = vi.spyOn(Connection.prototype, "query");
    onTestFinished(() => statements.mockRestore());
    const page = await store.listInventory({ statuses: [], after: undefined, limit: 100, asOf: 99n });
    expect(page).toHaveLength(99);
    expect(statements.mock.calls.length).toBeLessThan(100);
  });
});
