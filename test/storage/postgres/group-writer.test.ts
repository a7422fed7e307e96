import { describe, expect, it, onTestFinished } from "vitest";
import type { CommittedGroup } from "../../../src/domain/store.ts";
import { ChangeWriter } from "../../../src/storage/postgres/change-tokens.ts";
import { parseDatabaseUrl } from "../../../src/storage/postgres/connection/database-url.ts";
import { openPostgresStore } from "../../../src/storage/postgres/store.ts";
import { GroupWriter } from "../../../src/storage/postgres/writer/group-writer.ts";
import { changeStockInBatch } from "../../../src/storage/postgres/writer/stock-writes.ts";
import { borrowDatabase, runSql } from "../../support/postgres/databases.ts";
import { postgresPrograms } from "../../support/postgres/programs.ts";
import { createContext, createIdempotency, createPet, everything } from "../samples.ts";
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
  return { store, groups, writersOfStock, url: database.url };
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

/** Takes the errors that nobody catches, which would fail the run, until the test has ended. */
function takeUncaught(): unknown[] {
  const others = process.listeners("uncaughtException");
  const errors: unknown[] = [];
  const take = (error: unknown) => void errors.push(error);
  process.removeAllListeners("uncaughtException").on("uncaughtException", take);
  onTestFinished(() => {
    process.off("uncaughtException", take);
    for (const other of others) {
      process.on("uncaughtException", other);
    }
  });
  return errors;
}

describe.skipIf(postgresPrograms === undefined)("a group of writes in PostgreSQL", () => {
  it.each([
    ["in one round trip", () => ({})],
    ["in two", (petId: bigint) => ({ idempotency: createIdempotency(`${petId}`) })],
  ])("that was committed %s is not written again when a listener fails", async (_name, contextOf) => {
    const { store } = await openStore();
    const uncaught = takeUncaught();
    const bug = new Error("a listener fails");
    const heard: bigint[] = [];
    store.onChanges(() => {
      throw bug;
    });
    store.onChanges(({ petIds }) => heard.push(...petIds));
    const calls = [1n, 2n].map((petId) => store.changeStock(adjust(petId, 1n), createContext(contextOf(petId))));
    expect(await codesOf(calls)).toEqual(["done", "done"]);
    expect(heard).toEqual([1n, 2n]);
    expect((await store.listInventory(everything)).map(({ quantity }) => quantity)).toEqual([11n, 11n]);
    await expect.poll(() => uncaught).toEqual([bug]);
  });

  it("reads only the rows that it needs, also where it was planned while the tables were small", async () => {
    const { store, url } = await openStore();
    const before = await countRows(url);
    const write = async (name: string) => {
      const context = createContext({ idempotency: createIdempotency(name) });
      await store.changeStock(adjust(1n, 1n), context);
      const hold = { holdId: `hold_${name}`, petId: 1n, quantity: 1n, ttlMs: 60_000, reference: undefined };
      await store.createHold(hold, createContext());
      await store.commitHold({ holdId: hold.holdId }, createContext());
    };
    await write("small");
    await runSql(
      url,
      `INSERT INTO stock (pet_id, quantity, revision, status)
       SELECT number, 1, 0, 'available' FROM generate_series(3, 5000) AS number`,
      `INSERT INTO holds (position, id, pet_id, quantity, state, created_at_ms, expires_at_ms, ended_at_ms, key_id)
       SELECT -number, 'old_' || number, 1, 1, 'released', 0, 1, 1, 'key_a' FROM generate_series(1, 5000) AS number`,
      `INSERT INTO idempotency_records (key_id, idempotency_key, fingerprint, result, created_at_ms)
       SELECT 'key_b', number, '', '', 0 FROM generate_series(1, 5000) AS number`,
    );
    await write("large");
    await store.close();
    // The writer's session reports what it has read when it ends.
    await expect.poll(async () => (await countRows(url)).inserted - before.inserted).toBeGreaterThanOrEqual(4);
    expect((await countRows(url)).scanned - before.scanned).toBeLessThan(100);
  });
});

/** How many changes were inserted into a store, and how many rows scans of whole tables have read that writers use. */
async function countRows(url: string): Promise<{ inserted: number; scanned: number }> {
  const [result] = await runSql(
    url,
    `SELECT (SELECT n_tup_ins::int FROM pg_stat_user_tables WHERE relname = 'changes') AS inserted,
       sum(seq_tup_read)::int AS scanned FROM pg_stat_user_tables
     WHERE relname IN ('stock', 'holds', 'idempotency_records')`,
  );
  return result?.rows[0];
}

it("takes no more writes while those that wait for PostgreSQL read 100,000 rows", async () => {
  const address = parseDatabaseUrl("postgres://nobody@127.0.0.1:1/petstore");
  const writer = new GroupWriter(address, { writer: new ChangeWriter("writer"), clock: Date.now });
  /** The fault of a batch that reads so many rows. */
  const write = async (rows: number) => {
    const batch = Array.from({ length: rows - 1 }, (_, index) => adjust(BigInt(index + 1), 1n));
    const { code, cause } = await writer.run(changeStockInBatch(batch, true, createContext())).catch((error) => error);
    return [code, String(cause)];
  };
  const [first, second, third] = await Promise.all([write(60_000), write(40_000), write(2)]);
  const isAway = ["UNAVAILABLE", expect.stringContaining("ECONNREFUSED")];
  expect([first, second]).toEqual([isAway, isAway]);
  expect(third).toEqual(["UNAVAILABLE", "Error: too many writes wait for the database"]);
  await writer.close();
});
