import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { parseIfMatch } from "../../src/domain/stock.ts";
import { openSqliteStore, type SqliteStore } from "../../src/storage/sqlite/store.ts";
import { createContext, createIdempotency, createPet } from "../storage/samples.ts";
import { adjust, change, codesOf, set } from "../storage/stocked-pets.ts";
import { createFolder } from "../support/folder.ts";

let store: SqliteStore;

beforeEach(async () => {
  store = openSqliteStore(join(createFolder(), "petstore.db"));
  await store.importAll({ pets: [1n, 2n].map((id) => createPet({ id, quantity: 10n })) }, 0);
});

afterEach(() => store.close());

/** As many tags as the headers of a request may name, none of which is a pet's. */
const versions = Array<string>(300).fill(`${"\\".repeat(30)}-17`);

it("commands with long lists of tags have none refused that come with them", async () => {
  const long = Array.from({ length: 200 }, () => change(store, set(1n, 5n, { versions })));
  const plain = Array.from({ length: 200 }, () => change(store, adjust(2n, 1n)));
  expect(new Set(await codesOf(long))).toEqual(new Set(["PRECONDITION_FAILED"]));
  expect(new Set(await codesOf(plain))).toEqual(new Set(["done"]));
  expect((await store.getEntry(2n)).quantity).toBe(210n);
});

it("a command that is too long for the queue is done, once, or refused as others are", async () => {
  const { version } = await store.getEntry(1n);
  const tags = [...Array<string>(50_000).fill("0123456789ab-1234567890"), version];
  const told: unknown[] = [];
  store.onChanges((changes) => told.push(changes));
  const once = createContext({ idempotency: createIdempotency("key") });
  const done = await store.changeStock(set(1n, 3n, { versions: tags }), once);
  expect(done).toMatchObject({ value: { quantity: 3n }, isReplayed: false });
  expect(told).toEqual([{ lineage: version.split("-")[0], revision: 3n, petIds: [1n] }]);
  expect(await store.changeStock(set(1n, 3n, { versions: tags }), once)).toEqual({ ...done, isReplayed: true });
  const codes = await codesOf([
    change(store, set(1n, 4n, { versions: tags })),
    change(store, adjust(2n, -11n, { versions: undefined, reference: "x".repeat(800_000) })),
    change(store, set(3n, 4n, { versions: tags })),
  ]);
  expect(codes).toEqual(["PRECONDITION_FAILED", "INSUFFICIENT_STOCK", "PET_NOT_FOUND"]);
});

it("an If-Match has no more characters than a request's headers may have", () => {
  const tags = (count: number) => Array<string>(count).fill('"a"').join(",");
  expect(parseIfMatch(tags(4_096))).toHaveLength(4_096);
  expect(() => parseIfMatch(tags(4_097))).toThrow("at most 16384 characters long");
});

it("an update waits for few of the batches that came before it", async () => {
  const commands = Array.from({ length: 1_000 }, () => adjust(1n, 1n));
  let done = 0;
  const batches = Array.from({ length: 20 }, async () => {
    await store.changeStockInBatch(commands, false, createContext());
    done += 1;
  });
  await batches[0];
  await change(store, adjust(2n, 1n));
  expect(done).toBeLessThan(5);
  await Promise.all(batches);
  expect((await store.getEntry(1n)).quantity).toBe(20_010n);
});

it("batches are refused past 100,000 waiting changes, and the others are done", async () => {
  const commands = Array.from({ length: 1_000 }, () => set(3n, 1n));
  const batches = Array.from({ length: 105 }, () => store.changeStockInBatch(commands, false, createContext()));
  const codes = await codesOf(batches);
  // Two are under way, and a hundred wait.
  expect(codes.filter((code) => code === "done")).toHaveLength(102);
  expect(codes.filter((code) => code === "UNAVAILABLE")).toHaveLength(3);
});

it("what has been asked for is done before the store is closed", async () => {
  const batches = Array.from({ length: 5 }, () =>
    store.changeStockInBatch(Array<ReturnType<typeof adjust>>(1_000).fill(adjust(1n, 1n)), false, createContext()),
  );
  await store.close();
  expect(await codesOf(batches)).toEqual(Array(5).fill("done"));
  store = openSqliteStore(join(createFolder(), "petstore.db"));
});
