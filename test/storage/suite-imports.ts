import { describe, expect, it } from "vitest";
import type { StockedPet } from "../../src/domain/pet.ts";
import type { Store } from "../../src/domain/store.ts";
import { createOrder, createPet } from "./samples.ts";
import { everything, type OpenTestStore, withStore } from "./test-store.ts";

export function describeImports(open: OpenTestStore): void {
  describe("an import", () => {
    it(
      "replaces the pets that exist, their stock included, and leaves the others",
      withStore(open, async ({ store }) => {
        await store.importPets([
          createPet({ id: 1n, quantity: 5n, tags: ["old"] }),
          createPet({ id: 2n, quantity: 6n }),
        ]);
        const replaced = createPet({ id: 1n, name: "Max", status: "sold", quantity: 7n });
        expect(await store.importPets([replaced])).toBe(1);
        expect(await exported(store)).toEqual([replaced, createPet({ id: 2n, quantity: 6n })]);
      }),
    );

    it(
      "takes the last of several with the same id, and counts each",
      withStore(open, async ({ store }) => {
        const [first, last] = [createPet({ id: 1n, name: "first" }), createPet({ id: 1n, name: "last" })];
        expect(await store.importPets([first, createPet({ id: 2n }), last])).toBe(3);
        expect(await exported(store)).toEqual([last, createPet({ id: 2n })]);
      }),
    );

    it(
      "of nothing changes nothing",
      withStore(open, async ({ store }) => {
        expect(await store.importPets([])).toBe(0);
        expect(await store.importOrders([])).toBe(0);
      }),
    );

    it(
      "that fails half-way throws on what its input throws, and changes nothing",
      withStore(open, async ({ store }) => {
        await store.importPets([createPet({ id: 1n, quantity: 5n })]);
        const failure = new Error("line 1001 is bad");
        await expect(store.importPets(thenFail(1_000, (id) => createPet({ id }), failure))).rejects.toBe(failure);
        await expect(store.importOrders(thenFail(1_000, (id) => createOrder({ id }), failure))).rejects.toBe(failure);
        expect(await exported(store)).toEqual([createPet({ id: 1n, quantity: 5n })]);
        expect(await store.listOrders(everything)).toEqual([]);
      }),
    );

    it(
      "keeps nobody from writing while it waits for its input",
      withStore(open, async ({ store, openAnother }) => {
        await store.importPets([createPet({ id: 1n }), createPet({ id: 2n })]);
        const other = await openAnother();
        async function* slowly() {
          yield createPet({ id: 1n, quantity: 100n });
          await store.updateInventory(1n, 1n);
          await other.updateInventory(2n, 2n);
          expect(await other.listInventory({ ...everything, limit: 1 })).toMatchObject([{ quantity: 1n }]);
        }
        await store.importPets(slowly());
        expect(await other.listInventory(everything)).toMatchObject([{ quantity: 100n }, { quantity: 2n }]);
      }),
    );

    it(
      "tells the caches of other handles, and of its own, while updates of a store do not tell its own",
      withStore(open, async ({ store, openAnother }) => {
        const other = await openAnother();
        await store.importPets([createPet({ id: 1n })]);
        const [own, others] = [await store.foreignRevision(), await other.foreignRevision()];
        await store.updateInventory(1n, 2n);
        expect(await store.foreignRevision()).toBe(own);
        expect(await other.foreignRevision()).not.toBe(others);
        await store.importPets([createPet({ id: 1n })]);
        expect(await store.foreignRevision()).not.toBe(own);
      }),
    );
  });

  describe("an export", () => {
    it(
      "is as of one moment, however long it takes",
      withStore(open, async ({ store }) => {
        const pets = Array.from({ length: 500 }, (_, n) => createPet({ id: BigInt(n) }));
        await store.importPets(pets);
        const seen: StockedPet[] = [];
        for await (const pet of store.exportPets()) {
          seen.push(pet);
          if (seen.length === 10) {
            await store.updateInventory(400n, 7n);
            await store.importPets([createPet({ id: 1_000n })]);
          }
        }
        expect(seen).toEqual(pets);
      }),
    );

    it(
      "may be left half-way",
      withStore(open, async ({ store }) => {
        await store.importPets([createPet({ id: 1n }), createPet({ id: 2n })]);
        for await (const pet of store.exportPets()) {
          expect(pet.id).toBe(1n);
          break;
        }
        await store.updateInventory(1n, 1n);
      }),
    );
  });
}

async function exported(store: Store): Promise<StockedPet[]> {
  return Array.fromAsync(store.exportPets());
}

async function* thenFail<Item>(count: number, create: (id: bigint) => Item, failure: Error): AsyncGenerator<Item> {
  for (let n = 1; n <= count; n += 1) {
    yield create(BigInt(n));
  }
  throw failure;
}
