import { setTimeout } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import {
  type ImportCounts,
  type ImportResult,
  type Imports,
  type Order,
  type StockedPet,
  UnknownRecordError,
} from "../../src/domain/catalog.ts";
import type { Store } from "../../src/domain/store.ts";
import { type OpenStore, withStore } from "./opened-store.ts";
import { createContext, createOrder, createPet, everything, setStock } from "./samples.ts";

export function describeImports(open: OpenStore): void {
  describe("an import", () => {
    it(
      "replaces the pets that exist, their stock included, and leaves the others",
      withStore(open, async ({ store }) => {
        await store.importAll(
          {
            pets: [createPet({ id: 1n, quantity: 5n, tags: ["old"] }), createPet({ id: 2n, quantity: 6n })],
          },
          0,
        );
        const replaced = createPet({ id: 1n, name: "Max", status: "sold", quantity: 7n });
        const created = createPet({ id: 3n });
        expect(await store.importAll({ pets: [replaced, created] }, 0)).toEqual(resultOf({ created: 1, replaced: 1 }));
        expect(await exported(store)).toEqual([replaced, createPet({ id: 2n, quantity: 6n }), created]);
      }),
    );

    it(
      "takes the last of several with the same id, and counts them once",
      withStore(open, async ({ store }) => {
        const [first, last] = [createPet({ id: 1n, name: "first" }), createPet({ id: 1n, name: "last" })];
        expect(await store.importAll({ pets: [first, createPet({ id: 2n }), last] }, 0)).toEqual(
          resultOf({ created: 2 }),
        );
        expect(await exported(store)).toEqual([last, createPet({ id: 2n })]);
      }),
    );

    it(
      "whose input is slow happens when it is written",
      withStore(open, async ({ store }) => {
        let readAtMs = 0;
        async function* slowPets(): AsyncGenerator<StockedPet> {
          yield createPet({ id: 1n });
          await setTimeout(50);
          readAtMs = await store.now();
        }
        await store.importAll({ pets: slowPets() });
        const { changes } = await store.listChanges({ after: 0n, petIds: [], newestFirst: false, limit: 1 });
        expect(changes[0]?.occurredAtMs).toBeGreaterThanOrEqual(readAtMs);
      }),
    );

    it(
      "of nothing changes nothing",
      withStore(open, async ({ store }) => {
        await store.importAll({ pets: [createPet({ id: 1n })], orders: [createOrder({ id: 1n })] }, 0);
        expect(await store.importAll({}, 0)).toEqual(resultOf());
        expect(await store.importAll({ pets: [], orders: [] }, 0)).toEqual(resultOf());
        expect(await exported(store)).toEqual([createPet({ id: 1n })]);
        expect(await exportedOrders(store)).toEqual([createOrder({ id: 1n })]);
      }),
    );

    it(
      "of some fields changes these alone, of pets and orders that exist",
      withStore(open, async ({ store }) => {
        const [one, two] = [createPet({ id: 1n, quantity: 5n, tags: ["old"] }), createPet({ id: 2n, quantity: 6n })];
        const order = createOrder({ id: 1n, petId: 2n });
        await store.importAll({ pets: [one, two], orders: [order] }, 0);
        const result = await store.importAll(
          {
            pets: [
              { id: 1n, quantity: -1n },
              { id: 2n, photoUrls: ["a"], tags: [], status: "sold" },
              createPet({ id: 3n }),
            ],
            orders: [{ id: 1n, shipDateMs: 7, complete: true }],
          },
          0,
        );
        expect(result).toEqual(resultOf({ created: 1, changed: 2 }, { changed: 1 }));
        expect(await exported(store)).toEqual([
          { ...one, quantity: -1n },
          { ...two, photoUrls: ["a"], status: "sold" },
          createPet({ id: 3n }),
        ]);
        expect(await exportedOrders(store)).toEqual([{ ...order, shipDateMs: 7, complete: true }]);
      }),
    );

    it(
      "of some fields may come several times, and goes over what came before",
      withStore(open, async ({ store }) => {
        const pet = createPet({ id: 1n });
        const pets = [pet, { id: 1n, name: "Max" }, { id: 1n, quantity: 3n }];
        expect(await store.importAll({ pets }, 0)).toEqual(resultOf({ created: 1 }));
        expect(await exported(store)).toEqual([{ ...pet, name: "Max", quantity: 3n }]);
      }),
    );

    it.for<[string, Imports, Partial<UnknownRecordError>]>([
      ["pet", { pets: [{ id: 9n, name: "a" }, { id: 1n, name: "b" }, { id: 8n }] }, { kind: "pets", id: 9n }],
      ["order", { pets: [createPet({ id: 2n })], orders: [{ id: -3n, complete: true }] }, { kind: "orders", id: -3n }],
    ])("of some fields of an unknown %s changes nothing, and names the first", async ([, imports, error]) => {
      await withStore(open, async ({ store }) => {
        await store.importAll({ pets: [createPet({ id: 1n })] }, 0);
        const failure = await store.importAll(imports, 0).catch((reason: unknown) => reason);
        expect(failure).toBeInstanceOf(UnknownRecordError);
        expect(failure).toMatchObject(error);
        expect(await exported(store)).toEqual([createPet({ id: 1n })]);
        expect(await exportedOrders(store)).toEqual([]);
      })();
    });

    it(
      "is a change of the history for each pet whose quantity or status is written, in the order of their ids",
      withStore(open, async ({ store }) => {
        const pets = [3n, 1n, 2n].map((id) => createPet({ id, quantity: id }));
        await store.importAll({ pets }, 1_000);
        const versions = await Promise.all([1n, 2n, 3n].map(async (petId) => (await store.getEntry(petId)).version));
        await store.importAll(
          {
            pets: [
              { id: 3n, status: "sold" },
              createPet({ id: 4n, quantity: 4n }),
              { id: 2n, name: "Max" },
              { id: 1n, quantity: 1n },
              { id: 1n, name: "Mia" },
            ],
          },
          2_000,
        );
        await store.importAll({ orders: [createOrder({ id: 1n })] }, 3_000);
        const { changes } = await store.listChanges({ after: 0n, petIds: [], newestFirst: false, limit: 100 });
        const told = changes.map(({ petId, before, after, occurredAtMs }) => [petId, before, after, occurredAtMs]);
        expect(told).toEqual([
          [1n, undefined, 1n, 1_000],
          [2n, undefined, 2n, 1_000],
          [3n, undefined, 3n, 1_000],
          [1n, 1n, 1n, 2_000],
          [3n, 3n, 3n, 2_000],
          [4n, undefined, 4n, 2_000],
        ]);
        const isSame = await Promise.all(
          [1n, 2n, 3n].map(async (petId, n) => (await store.getEntry(petId)).version === versions[n]),
        );
        expect(isSame).toEqual([false, true, false]);
      }),
    );

    it(
      "leaves what is held as it is",
      withStore(open, async ({ store }) => {
        await store.importAll({ pets: [createPet({ id: 1n, quantity: 5n })] }, 0);
        const hold = { holdId: "hold_a", petId: 1n, quantity: 4n, ttlMs: 1_000, reference: undefined };
        await store.createHold(hold, createContext({ nowMs: 0 }));
        await store.importAll({ pets: [createPet({ id: 1n, quantity: 3n })] }, 1);
        expect(await store.getAvailability(1n, 2)).toMatchObject({ quantity: 3n, held: 4n, available: -1n });
      }),
    );

    it(
      "tells of orders whose pets are neither in the store nor among those that come",
      withStore(open, async ({ store }) => {
        const orderOf = (id: bigint, petId: bigint) => createOrder({ id, petId });
        await store.importAll({ pets: [createPet({ id: 1n })], orders: [orderOf(1n, 7n)] }, 0);
        const orders = [
          orderOf(2n, 1n),
          orderOf(3n, 2n),
          ...[14n, 13n, 12n, 11n, 10n, -9n, 13n].map((petId, n) => orderOf(BigInt(n + 4), petId)),
        ];
        const { strays } = await store.importAll({ pets: [createPet({ id: 2n })], orders }, 0);
        expect(strays).toEqual({ count: 7, petCount: 6, petIds: [-9n, 10n, 11n, 12n, 13n] });
        expect((await store.importAll({ orders: [{ id: 1n, complete: true }] }, 0)).strays.count).toBe(0);
      }),
    );

    it(
      "that fails half-way throws on what its input throws, and changes nothing",
      withStore(open, async ({ store }) => {
        await store.importAll({ pets: [createPet({ id: 1n, quantity: 5n })] }, 0);
        const failure = new Error("line 1001 is bad");
        await expect(store.importAll({ pets: thenFail(1_000, petOf, failure) }, 0)).rejects.toBe(failure);
        await expect(store.importAll({ orders: thenFail(1_000, orderOf, failure) }, 0)).rejects.toBe(failure);
        expect(await exported(store)).toEqual([createPet({ id: 1n, quantity: 5n })]);
        expect(await store.listOrders(everything)).toEqual([]);
      }),
    );

    it(
      "takes pets and orders together, as one",
      withStore(open, async ({ store, openAnother }) => {
        const other = await openAnother();
        const counts = await store.importAll(
          {
            pets: [createPet({ id: 1n })],
            orders: [createOrder({ id: 1n }), createOrder({ id: 2n })],
          },
          0,
        );
        expect(counts).toEqual(resultOf({ created: 1 }, { created: 2 }));
        expect(await exported(other)).toEqual([createPet({ id: 1n })]);
        expect(await exportedOrders(other)).toEqual([createOrder({ id: 1n }), createOrder({ id: 2n })]);
      }),
    );

    it.for<[string, (failure: Error) => Imports]>([
      ["pets", (failure) => ({ pets: thenFail(5, petOf, failure), orders: [createOrder({ id: 1n })] })],
      ["orders", (failure) => ({ pets: [createPet({ id: 1n })], orders: thenFail(5, orderOf, failure) })],
    ])("that fails in its %s puts in neither pets nor orders", async ([, importsOf]) => {
      await withStore(open, async ({ store, openAnother }) => {
        const failure = new Error("line 6 is bad");
        await expect(store.importAll(importsOf(failure), 0)).rejects.toBe(failure);
        const other = await openAnother();
        expect(await exported(other)).toEqual([]);
        expect(await exportedOrders(other)).toEqual([]);
      })();
    });

    it(
      "shows its pets to nobody before its orders have come",
      withStore(open, async ({ store, openAnother }) => {
        const other = await openAnother();
        async function* slowly() {
          expect(await exported(other)).toEqual([]);
          yield createOrder({ id: 1n });
          expect(await exported(other)).toEqual([]);
        }
        await store.importAll({ pets: [createPet({ id: 1n })], orders: slowly() }, 0);
        expect(await exported(other)).toEqual([createPet({ id: 1n })]);
      }),
    );

    it(
      "keeps nobody from writing while it waits for its input",
      withStore(open, async ({ store, openAnother }) => {
        await store.importAll({ pets: [createPet({ id: 1n }), createPet({ id: 2n })] }, 0);
        const other = await openAnother();
        async function* slowly() {
          yield createPet({ id: 1n, quantity: 100n });
          await setStock(store, 1n, 1n);
          await setStock(other, 2n, 2n);
          expect(await other.listInventory({ ...everything, limit: 1 })).toMatchObject([{ quantity: 1n }]);
        }
        await store.importAll({ pets: slowly() }, 0);
        expect(await store.listInventory(everything)).toMatchObject([{ quantity: 100n }, { quantity: 2n }]);
      }),
    );
  });
}

const none: ImportCounts = { created: 0, replaced: 0, changed: 0 };

function resultOf(pets: Partial<ImportCounts> = {}, orders: Partial<ImportCounts> = {}): ImportResult {
  return { pets: { ...none, ...pets }, orders: { ...none, ...orders }, strays: expect.anything() };
}

function petOf(id: bigint): StockedPet {
  return createPet({ id });
}

function orderOf(id: bigint): Order {
  return createOrder({ id });
}

async function exported(store: Store): Promise<StockedPet[]> {
  return Array.fromAsync(store.exportPets());
}

async function exportedOrders(store: Store): Promise<Order[]> {
  return Array.fromAsync(store.exportOrders());
}

async function* thenFail<Item>(count: number, create: (id: bigint) => Item, failure: Error): AsyncGenerator<Item> {
  for (let n = 1; n <= count; n += 1) {
    yield create(BigInt(n));
  }
  throw failure;
}
