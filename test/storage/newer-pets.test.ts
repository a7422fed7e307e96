import { join } from "node:path";
import { setImmediate } from "node:timers/promises";
import { expect, it, onTestFinished, vi } from "vitest";
import { Connection } from "../../src/storage/sqlite/connection.ts";
import { openSqliteStore } from "../../src/storage/sqlite/store.ts";
import { createFolder } from "../support/folder.ts";
import { createPet } from "./samples.ts";

it("a page as of a revision skips many newer pets in few statements, and other work goes on meanwhile", async () => {
  const store = openSqliteStore(join(createFolder(), "petstore.db"));
  onTestFinished(() => store.close());
  const pets = Array.from({ length: 5_000 }, (_, id) => createPet({ id: BigInt(id) }));
  await store.importAll({ pets: pets.slice(0, 99) }, 0);
  await store.importAll({ pets: pets.slice(99) }, 0);
  const statements = vi.spyOn(Connection.prototype, "all");
  onTestFinished(() => statements.mockRestore());
  let page: readonly unknown[] | undefined;
  const reading = store.listInventory({ statuses: [], after: undefined, limit: 100, asOf: 99n }).then((items) => {
    page = items;
  });
  let turns = 0;
  while (page === undefined) {
    await setImmediate();
    turns += 1;
  }
  await reading;
  expect(page).toHaveLength(99);
  expect(statements.mock.calls.length).toBeLessThan(200);
  expect(turns).toBeGreaterThan(40);
});
