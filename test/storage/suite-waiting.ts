import { describe, expect, it } from "vitest";
import type { Store, WaitOptions } from "../../src/domain/store.ts";
import { type OpenStore, withStore } from "./opened-store.ts";
import { createOrder, createPet, everything, setStock } from "./samples.ts";

const calls: [name: string, call: (store: Store, options?: WaitOptions) => Promise<unknown>][] = [
  ["ready", (store, options) => store.ready(options)],
  ["changeTokens", (store, options) => store.changeTokens(options)],
  ["listInventory", (store, options) => store.listInventory(everything, options)],
  ["listOrders", (store, options) => store.listOrders(everything, options)],
  ["updateInventory", (store, options) => setStock(store, 1n, 1n, options)],
  ["exportPets", (store, options) => Array.fromAsync(store.exportPets(options))],
  ["exportOrders", (store, options) => Array.fromAsync(store.exportOrders(options))],
];

export function describeWaiting(open: OpenStore): void {
  describe("a caller", () => {
    it.each(calls)("that has gone does not wait for %s", (_, call) =>
      withStore(open, async ({ store }) => {
        await store.importAll({ pets: [createPet({ id: 1n })], orders: [createOrder({ id: 1n })] }, 0);
        const reason = new Error("the caller has gone");
        await expect(call(store, { signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
        await call(store, { signal: new AbortController().signal });
        await call(store);
      })(),
    );

    it(
      "that goes during an update does not wait for it, and it takes effect or does not",
      withStore(open, async ({ store, reopen }) => {
        await store.importAll({ pets: [createPet({ id: 1n, quantity: 1n })] }, 0);
        const gone = new AbortController();
        const updating = setStock(store, 1n, 2n, { signal: gone.signal });
        gone.abort(new Error("the caller has gone"));
        const [outcome] = await Promise.allSettled([updating]);
        expect(outcome).toMatchObject(
          outcome.status === "fulfilled" ? { value: { quantity: 2n } } : { reason: { message: "the caller has gone" } },
        );
        const [item] = await (await reopen()).listInventory(everything);
        expect([1n, 2n]).toContain(item?.quantity);
      }),
    );

    it(
      "that goes during an export gets no more",
      withStore(open, async ({ store }) => {
        await store.importAll({ pets: [createPet({ id: 1n }), createPet({ id: 2n })] }, 0);
        const gone = new AbortController();
        const seen: bigint[] = [];
        const exporting = async () => {
          for await (const { id } of store.exportPets({ signal: gone.signal })) {
            seen.push(id);
            gone.abort(new Error("the caller has gone"));
          }
        };
        await expect(exporting()).rejects.toThrow("the caller has gone");
        expect(seen).toEqual([1n]);
        await setStock(store, 1n, 1n);
      }),
    );
  });
}
