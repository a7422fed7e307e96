import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { checkStore, copyStore } from "../../../src/cli/store.ts";
import type { Store } from "../../../src/domain/store.ts";
import { createFolder } from "../../support/folder.ts";
import { createDatabase } from "../../support/postgres/databases.ts";
import { postgresPrograms } from "../../support/postgres/programs.ts";
import { createContext, createIdempotency, createKey, createWebhook, everything, hashOf } from "../samples.ts";
import { fillStore, withStoreAt } from "./filled-store.ts";
import { rowsOf } from "./table-contents.ts";

type Place = () => Promise<string>;

const inFile: Place = async () => join(createFolder(), "petstore.db");
const inDatabase: Place = async () => {
  const database = await createDatabase();
  onTestFinished(() => database.remove());
  return database.url;
};

/** What concerns servers and backups: see `tables.test.ts`. */
const leftOut = ["usage_saves", "change_counters", "change_counts", "last_backup", "servers"];

const nowMs = Date.now();

async function makeFilled(place: Place): Promise<string> {
  const location = await place();
  await withStoreAt(location, (store) => fillStore(store, nowMs));
  return location;
}

async function copyTo(place: Place, from: string): Promise<string> {
  const to = await place();
  await copyStore(from, to, () => {});
  return to;
}

async function listAll<T>(items: AsyncIterable<T>): Promise<T[]> {
  return Array.fromAsync(items);
}

/** What clients and operators read of a store. */
async function readAll(store: Store) {
  return {
    pets: await listAll(store.exportPets()),
    orders: await listAll(store.exportOrders()),
    inventory: await store.listInventory(everything),
    entry: await store.getEntry(1n),
    available: await store.getAvailability(2n, nowMs),
    bounds: await store.historyBounds(0),
    changes: await store.listChanges({ after: 0n, petIds: [], newestFirst: false, limit: 1_000 }),
    changesOfPet: await store.listChanges({ after: 150n, petIds: [1n], newestFirst: false, limit: 20 }),
    holds: await store.listHolds({ petId: undefined, states: [], before: undefined, limit: 10 }, nowMs),
    keys: await store.listKeys(),
    found: await store.findKey(hashOf("new")),
    usage: (await store.listUsage()).sort((a, b) => (a.keyId < b.keyId ? -1 : 1)),
    webhooks: await store.listWebhooks(),
    attempts: await store.listAttempts("whk_b", 10),
  };
}

/** What is written next gets numbers behind those that were copied. */
async function expectToGoOn(store: Store): Promise<void> {
  const { head } = await store.historyBounds(0);
  const idempotency = createIdempotency("order 17", "content");
  const command = { kind: "adjust", petId: 2n, delta: -1n, allowNegative: false } as const;
  const replayed = await store.changeStock(command, createContext({ nowMs, idempotency }));
  expect(replayed).toMatchObject({ isReplayed: true, value: { quantity: 9n } });
  await store.changeStock({ kind: "set", petId: 1n, quantity: 5n }, createContext({ nowMs }));
  expect((await store.historyBounds(0)).head).toBe(head + 1n);

  const request = { holdId: "hold_next", petId: 2n, quantity: 1n, ttlMs: 1_000, reference: undefined };
  const former = await store.listHolds({ petId: undefined, states: [], before: undefined, limit: 1 }, nowMs);
  await store.createHold(request, createContext({ nowMs }));
  const [next] = await store.listHolds({ petId: undefined, states: [], before: undefined, limit: 1 }, nowMs);
  // The hold that is gone was behind the newest one that is left.
  expect(next).toMatchObject({ id: "hold_next", position: (former[0]?.position ?? 0n) + 2n });

  await store.createKey(createKey({ id: "key_0" }), hashOf("0"));
  expect((await store.listKeys()).map(({ id }) => id)).toEqual(["key_b", "key_a", "key_c", "key_0"]);
  await store.createWebhook(createWebhook({ id: "whk_0" }));
  expect((await store.listWebhooks()).map(({ id }) => id)).toEqual(["whk_b", "whk_a", "whk_0"]);
}

const ways: [string, Place, Place][] = [
  ["a file to a file", inFile, inFile],
  ...(postgresPrograms === undefined
    ? []
    : ([
        ["a file to a database", inFile, inDatabase],
        ["a database to a file", inDatabase, inFile],
        ["a database to a database", inDatabase, inDatabase],
      ] as [string, Place, Place][])),
];

describe.each(ways)("a copy from %s", (_, from, to) => {
  it("reads as its origin, is sound, and goes on where that has ended", async () => {
    const origin = await makeFilled(from);
    const copy = await copyTo(to, origin);
    const [original, copied] = [await withStoreAt(origin, readAll), await withStoreAt(copy, readAll)];
    expect(original.changes.changes.length).toBeGreaterThan(300);
    expect(copied).toEqual(original);
    expect(await checkStore(copy, "full")).toEqual([]);
    await withStoreAt(copy, expectToGoOn);
    expect(await checkStore(copy, "full")).toEqual([]);
  });

  it("and back has the same rows in every table", async () => {
    const origin = await makeFilled(from);
    const back = await copyTo(from, await copyTo(to, origin));
    const rows = await rowsOf(origin, leftOut);
    expect(Object.entries(rows).filter(([, all]) => all.length === 0)).toEqual([]);
    expect(await rowsOf(back, leftOut)).toEqual(rows);
  });

  it("whose oldest changes are gone is sound, and lists what is left", async () => {
    const origin = await makeFilled(from);
    await withStoreAt(origin, async (store) => {
      for (let isMore = true; isMore; ) {
        isMore = await store.deleteOutdated(nowMs - 500, nowMs);
      }
      expect((await store.historyBounds(0)).oldest).toBeGreaterThan(300n);
    });
    const copy = await copyTo(to, origin);
    expect(await withStoreAt(copy, readAll)).toEqual(await withStoreAt(origin, readAll));
    expect(await checkStore(copy, "full")).toEqual([]);
    await withStoreAt(copy, (store) =>
      store.changeStock({ kind: "set", petId: 1n, quantity: 5n }, createContext({ nowMs })),
    );
    expect(await checkStore(copy, "full")).toEqual([]);
  });

  it("of an empty store is an empty store, of the same lineage, and may be made in another empty one", async () => {
    const origin = await from();
    const bounds = await withStoreAt(origin, (store) => store.historyBounds(0));
    const copy = await to();
    await withStoreAt(copy, async () => {});
    await copyStore(origin, copy, () => {});
    expect(await withStoreAt(copy, (store) => store.historyBounds(0))).toEqual(bounds);
  });
});
