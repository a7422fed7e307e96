import { describe, expect, it } from "vitest";
import type { Order } from "../../src/domain/order.ts";
import type { StockedPet } from "../../src/domain/pet.ts";
import type { Imports, Store } from "../../src/domain/store.ts";
import { type OpenStore, withStore } from "./opened-store.ts";
import { createOrder, createPet, everything } from "./samples.ts";

export function describeImports(open: OpenStore): void {
  describe("an import", () => {
    it(
      "replaces the pets that exist, their stock included, and leaves the others",
      withStore(open, async ({ store }) => {
        await store.importAll({
          pets: [createPet({ id: 1n, quantity: 5n, tags: ["old"] }), createPet({ id: 2n, quantity: 6n })],
        });
        const replaced = createPet({ id: 1n, name: "Max", status: "sold", quantity: 7n });
        expect(await store.importAll({ pets: [replaced] })).toEqual({ pets: 1, orders: 0 });
        expect(await exported(store)).toEqual([replaced, createPet({ id: 2n, quantity: 6n })]);
      }),
    );

    it(
      "takes the last of several with the same id, and counts each",
      withStore(open, async ({ store }) => {
        const [first, last] = [createPet({ id: 1n, name: "first" }), createPet({ id: 1n, name: "last" })];
        expect(await store.importAll({ pets: [first, createPet({ id: 2n }), last] })).toEqual({ pets: 3, orders: 0 });
        expect(await exported(store)).toEqual([last, createPet({ id: 2n })]);
      }),
    );

    it(
      "of nothing changes nothing",
      withStore(open, async ({ store }) => {
        await store.importAll({ pets: [createPet({ id: 1n })], orders: [createOrder({ id: 1n })] });
        expect(await store.importAll({})).toEqual({ pets: 0, orders: 0 });
        expect(await store.importAll({ pets: [], orders: [] })).toEqual({ pets: 0, orders: 0 });
        expect(await exported(store)).toEqual([createPet({ id: 1n })]);
        expect(await exportedOrders(store)).toEqual([createOrder({ id: 1n })]);
      }),
    );

    it(
      "that fails half-way throws on what its input throws, and changes nothing",
      withStore(open, async ({ store }) => {
        await store.importAll({ pets: [createPet({ id: 1n, quantity: 5n })] });
        const failure = new Error("line 1001 is bad");
        await expect(store.importAll({ pets: thenFail(1_000, petOf, failure) })).rejects.toBe(failure);
        await expect(store.importAll({ orders: thenFail(1_000, orderOf, failure) })).rejects.toBe(failure);
        expect(await exported(store)).toEqual([createPet({ id: 1n, quantity: 5n })]);
        expect(await store.listOrders(everything)).toEqual([]);
      }),
    );

    it(
      "takes pets and orders together, as one",
      withStore(open, async ({ store, openAnother }) => {
        const other = await openAnother();
        const before = await other.foreignRevision();
        const counts = await store.importAll({
          pets: [createPet({ id: 1n })],
          orders: [createOrder({ id: 1n }), createOrder({ id: 2n })],
        });
        expect(counts).toEqual({ pets: 1, orders: 2 });
        expect(await exported(other)).toEqual([createPet({ id: 1n })]);
        expect(await exportedOrders(other)).toEqual([createOrder({ id: 1n }), createOrder({ id: 2n })]);
        expect(await other.foreignRevision()).not.toBe(before);
      }),
    );

    it.for<[string, (failure: Error) => Imports]>([
      ["pets", (failure) => ({ pets: thenFail(5, petOf, failure), orders: [createOrder({ id: 1n })] })],
      ["orders", (failure) => ({ pets: [createPet({ id: 1n })], orders: thenFail(5, orderOf, failure) })],
    ])("that fails in its %s puts in neither pets nor orders", async ([, importsOf]) => {
      await withStore(open, async ({ store, openAnother }) => {
        const failure = new Error("line 6 is bad");
        await expect(store.importAll(importsOf(failure))).rejects.toBe(failure);
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
        await store.importAll({ pets: [createPet({ id: 1n })], orders: slowly() });
        expect(await exported(other)).toEqual([createPet({ id: 1n })]);
      }),
    );

    it(
      "keeps nobody from writing while it waits for its input",
      withStore(open, async ({ store, openAnother }) => {
        await store.importAll({ pets: [createPet({ id: 1n }), createPet({ id: 2n })] });
        const other = await openAnother();
        async function* slowly() {
          yield createPet({ id: 1n, quantity: 100n });
          await store.updateInventory(1n, 1n);
          await other.updateInventory(2n, 2n);
          expect(await other.listInventory({ ...everything, limit: 1 })).toMatchObject([{ quantity: 1n }]);
        }
        await store.importAll({ pets: slowly() });
        expect(await other.listInventory(everything)).toMatchObject([{ quantity: 100n }, { quantity: 2n }]);
      }),
    );

    it(
      "tells the caches of other handles, and of its own, while updates of a store do not tell its own",
      withStore(open, async ({ store, openAnother }) => {
        const other = await openAnother();
        await store.importAll({ pets: [createPet({ id: 1n })] });
        const [own, others] = [await store.foreignRevision(), await other.foreignRevision()];
        await store.updateInventory(1n, 2n);
        expect(await store.foreignRevision()).toBe(own);
        expect(await other.foreignRevision()).not.toBe(others);
        await store.importAll({ pets: [createPet({ id: 1n })] });
        expect(await store.foreignRevision()).not.toBe(own);
      }),
    );
  });
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
