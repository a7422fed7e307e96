import { describe, expect, it, onTestFinished } from "vitest";
import type { CommittedGroup } from "../../../src/domain/store.ts";
import { openPostgresStore } from "../../../src/storage/postgres/store.ts";
import { borrowDatabase, runSql } from "../../support/postgres/databases.ts";
import { postgresPrograms } from "../../support/postgres/programs.ts";
import { createContext, createPet } from "../samples.ts";
import { adjust, codesOf, set } from "../stocked-pets.ts";

/** A store with pets 1 and 2, of which there are 10 each, and the groups that it has committed. */
async function openStore() {
  const database = await borrowDatabase();
  const groups: CommittedGroup[] = [];
  const store = await openPostgresStore(database.url, { committed: (group) => groups.push(group) });
  onTestFinished(async () => {
    await store.close();
    await database.remove();
  });
  await store.importAll({ pets: [1n, 2n].map((id) => createPet({ id, quantity: 10n })) }, 0);
  /** The transactions that have last written the stock of pets 1 and 2. */
  const writersOfStock = async () => {
    const [result] = await runSql(database.url, "SELECT xmin FROM stock ORDER BY pet_id");
    return result?.rows.map(({ xmin }) => String(xmin)) ?? [];
  };
  return { store, groups, writersOfStock };
}

describe.skipIf(postgresPrograms === undefined)("an atomic batch that is refused in PostgreSQL", () => {
  it("commits nothing, and writes no row", async () => {
    const { store, groups, writersOfStock } = await openStore();
    const former = await writersOfStock();
    const batch = [adjust(1n, -1n), adjust(2n, -11n)];
    expect(await codesOf([store.changeStockInBatch(batch, true, createContext())])).toEqual(["INSUFFICIENT_STOCK"]);
    expect(groups).toEqual([]);
    expect(await writersOfStock()).toEqual(former);
  });

  it("leaves what a write before it in the group has changed", async () => {
    const { store, groups, writersOfStock } = await openStore();
    const [, formerOfTwo] = await writersOfStock();
    const batches = [[set(1n, 7n)], [set(1n, 5n), set(2n, 5n), adjust(2n, -11n)]];
    const calls = batches.map((batch) => store.changeStockInBatch(batch, true, createContext()));
    expect(await codesOf(calls)).toEqual(["done", "INSUFFICIENT_STOCK"]);
    expect(groups).toMatchObject([{ size: 2 }]);
    expect((await store.getEntry(1n)).quantity).toBe(7n);
    expect((await writersOfStock())[1]).toBe(formerOfTwo);
  });
});
