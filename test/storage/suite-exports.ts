import { describe, expect, it } from "vitest";
import type { Order, StockedPet } from "../../src/domain/catalog.ts";
import { maxInt64, minInt64 } from "../../src/domain/ranges.ts";
import { type OpenStore, withStore } from "./opened-store.ts";
import { createOrder, createPet, setStock } from "./samples.ts";

export function describeExports(open: OpenStore): void {
  describe("an export", () => {
    it(
      "is as of one moment, however long it takes",
      withStore(open, async ({ store }) => {
        const pets = Array.from({ length: 500 }, (_, n) => createPet({ id: BigInt(n) }));
        await store.importAll({ pets }, 0);
        const seen: StockedPet[] = [];
        for await (const pet of store.exportPets()) {
          seen.push(pet);
          if (seen.length === 10) {
            await setStock(store, 400n, 7n);
            await store.importAll({ pets: [createPet({ id: 1_000n })] }, 0);
          }
        }
        expect(seen).toEqual(pets);
      }),
    );

    it(
      "of orders is as of one moment too, by ascending id, with all of their fields",
      withStore(open, async ({ store }) => {
        const orders = Array.from({ length: 2_500 }, (_, n) =>
          createOrder({
            id: BigInt(n) - 3n,
            petId: maxInt64,
            quantity: minInt64,
            shipDateMs: n,
            complete: n % 2 === 0,
          }),
        );
        await store.importAll({ orders: orders.toReversed() }, 0);
        const seen: Order[] = [];
        for await (const order of store.exportOrders()) {
          seen.push(order);
          if (seen.length === 10) {
            await store.importAll({ orders: [createOrder({ id: 2_000n }), createOrder({ id: 10_000n })] }, 0);
          }
        }
        expect(seen).toEqual(orders);
      }),
    );

    it(
      "may be left half-way",
      withStore(open, async ({ store }) => {
        await store.importAll({ pets: [createPet({ id: 1n }), createPet({ id: 2n })] }, 0);
        for await (const pet of store.exportPets()) {
          expect(pet.id).toBe(1n);
          break;
        }
        await setStock(store, 1n, 1n);
      }),
    );
  });
}
