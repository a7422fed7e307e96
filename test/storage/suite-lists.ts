import { describe, expect, it } from "vitest";
import type { PetStatus } from "../../src/domain/catalog.ts";
import { maxInt64, minInt64 } from "../../src/domain/ranges.ts";
import type { ListQuery } from "../../src/domain/store.ts";
import { type OpenStore, withStore } from "./opened-store.ts";
import { createOrder, createPet, everything, setStock } from "./samples.ts";

const pets = [
  createPet({ id: 10n, status: "sold" }),
  createPet({ id: 9n, status: "pending" }),
  createPet({ id: -3n, status: "available" }),
  createPet({ id: 0n, status: "sold" }),
  createPet({ id: maxInt64, status: "available" }),
  createPet({ id: minInt64, status: "pending" }),
];

const queries: [Partial<ListQuery<PetStatus>>, bigint[]][] = [
  [{}, [minInt64, -3n, 0n, 9n, 10n, maxInt64]],
  [{ limit: 2 }, [minInt64, -3n]],
  [{ limit: 0 }, []],
  [{ limit: 100 }, [minInt64, -3n, 0n, 9n, 10n, maxInt64]],
  [{ after: minInt64 }, [-3n, 0n, 9n, 10n, maxInt64]],
  [{ after: 9n, limit: 1 }, [10n]],
  [{ after: 5n, limit: 1 }, [9n]],
  [{ after: maxInt64 }, []],
  [{ statuses: ["sold"] }, [0n, 10n]],
  [{ statuses: ["sold", "pending"] }, [minInt64, 0n, 9n, 10n]],
  [{ statuses: ["sold", "sold"] }, [0n, 10n]],
  [{ statuses: ["pending", "available", "sold"] }, [minInt64, -3n, 0n, 9n, 10n, maxInt64]],
  [{ statuses: ["sold", "pending"], after: 0n, limit: 1 }, [9n]],
  [{ statuses: ["available"], after: -3n }, [maxInt64]],
];

export function describeLists(open: OpenStore): void {
  describe("the inventory", () => {
    it(
      "is empty at first",
      withStore(open, async ({ store }) => {
        expect(await store.listInventory(everything)).toEqual([]);
        expect(await store.countPets()).toBe(0);
        expect(await store.countOrders()).toBe(0);
      }),
    );

    it(
      "is listed by ascending id, as far as it is asked for",
      withStore(open, async ({ store }) => {
        await store.importAll({ pets }, 0);
        for (const [query, expected] of queries) {
          const items = await store.listInventory({ ...everything, ...query });
          expect([query, items.map((item) => item.petId)]).toEqual([query, expected]);
        }
      }),
    );

    it.each([0n, -1n, 9_007_199_254_740_993n, maxInt64, minInt64])("keeps the quantity %d exactly", (quantity) =>
      withStore(open, async ({ store, reopen }) => {
        await store.importAll({ pets: [createPet({ id: 1n, status: "pending" })] }, 0);
        const expected = { petId: 1n, quantity, status: "pending" };
        expect(await setStock(store, 1n, quantity)).toEqual(expected);
        expect(await store.listInventory(everything)).toEqual([expected]);
        expect(await (await reopen()).listInventory(everything)).toEqual([expected]);
      })(),
    );

    it(
      "shows an update to every later read, and to other handles",
      withStore(open, async ({ store, openAnother }) => {
        const other = await openAnother();
        await store.importAll({ pets: [createPet({ id: 1n })] }, 0);
        for (let quantity = 1n; quantity <= 50n; quantity += 1n) {
          const [writer, reader] = quantity % 2n === 0n ? [store, other] : [other, store];
          await setStock(writer, 1n, quantity);
          expect((await reader.listInventory(everything))[0]?.quantity).toBe(quantity);
          expect((await writer.listInventory(everything))[0]?.quantity).toBe(quantity);
        }
      }),
    );

    it(
      "takes updates that arrive together in the order in which they arrive",
      withStore(open, async ({ store }) => {
        await store.importAll({ pets: [createPet({ id: 1n }), createPet({ id: 2n })] }, 0);
        const updates = Array.from({ length: 200 }, (_, n) => setStock(store, BigInt((n % 2) + 1), BigInt(n)));
        expect((await Promise.all(updates)).map((item) => item.quantity)).toEqual(updates.map((_, n) => BigInt(n)));
        expect((await store.listInventory(everything)).map((item) => item.quantity)).toEqual([198n, 199n]);
      }),
    );

    it(
      "refuses an update of a pet that is not there, and makes none",
      withStore(open, async ({ store }) => {
        await store.importAll({ pets: [createPet({ id: 1n })] }, 0);
        const updates = [setStock(store, 1n, 1n), setStock(store, 2n, 2n), setStock(store, 1n, 3n)];
        const results = await Promise.allSettled(updates);
        expect(results).toMatchObject([
          { value: { quantity: 1n } },
          { reason: { code: "PET_NOT_FOUND" } },
          { value: { quantity: 3n } },
        ]);
        expect(await store.countPets()).toBe(1);
      }),
    );
  });

  describe("a pet", () => {
    it(
      "has all of its fields, and no others",
      withStore(open, async ({ store }) => {
        const pet = {
          ...createPet({ id: 7n, name: 'Zoë "Zo" 🐈\n\u0000', category: "", status: "sold" }),
          photoUrls: ["https://example.com/7.jpg", ""],
          tags: ["a;b", "ü"],
        };
        await store.importAll({ pets: [pet] }, 0);
        const { quantity: _, ...expected } = pet;
        expect(await store.getPet(7n)).toEqual(expected);
        await expect(store.getPet(8n)).rejects.toMatchObject({ code: "PET_NOT_FOUND" });
      }),
    );

    it(
      "keeps everything but its stock through an update",
      withStore(open, async ({ store }) => {
        await store.importAll({ pets: [createPet({ id: 7n, status: "sold", tags: ["x"] })] }, 0);
        const before = await store.getPet(7n);
        await setStock(store, 7n, 99n);
        expect(await store.getPet(7n)).toEqual(before);
      }),
    );
  });

  describe("the orders", () => {
    it(
      "are listed by ascending id, with all of their fields",
      withStore(open, async ({ store, reopen }) => {
        const orders = [
          createOrder({ id: maxInt64, petId: minInt64, quantity: maxInt64, shipDateMs: -1, status: "delivered" }),
          createOrder({ id: 2n, complete: true, shipDateMs: 1_767_225_600_123, status: "approved" }),
        ];
        expect((await store.importAll({ orders }, 0)).orders).toEqual({ created: 2, replaced: 0, changed: 0 });
        expect(await store.listOrders(everything)).toEqual(orders.toReversed());
        const reopened = await reopen();
        expect(await reopened.listOrders({ ...everything, statuses: ["delivered"] })).toEqual([orders[0]]);
        expect(await reopened.listOrders({ ...everything, after: 2n, limit: 1 })).toEqual([orders[0]]);
        expect(await reopened.countOrders()).toBe(2);
        expect(await reopened.listOrders({ ...everything, limit: 1 })).toEqual([orders[1]]);
      }),
    );
  });
}
