import { describe, expect, it } from "vitest";
import { idempotencyMs } from "../../src/domain/idempotency.ts";
import type { StockStore, WriteContext, Written } from "../../src/domain/store.ts";
import type { OpenStore } from "./opened-store.ts";
import { createContext, createIdempotency } from "./samples.ts";
import { adjust, change, codesOf, deleteAllOutdated, set, withPets } from "./stocked-pets.ts";

type Write = (store: StockStore, context: WriteContext) => Promise<Written<unknown>>;

const request = { petId: 1n, quantity: 1n, ttlMs: 60_000, reference: undefined };

/** Each of them changes something each time that it is done. */
const writes: [name: string, write: Write][] = [
  ["a set", (store, context) => store.changeStock(set(1n, 5n), context)],
  ["an adjustment", (store, context) => store.changeStock(adjust(1n, -1n), context)],
  ["a batch", (store, context) => store.changeStockInBatch([adjust(1n, -1n), set(9n, 1n)], false, context)],
  ["an atomic batch", (store, context) => store.changeStockInBatch([adjust(1n, -1n), set(2n, 1n)], true, context)],
  ["a hold", (store, context) => store.createHold({ ...request, holdId: `hold_${Math.random()}` }, context)],
  [
    "a hold with a reference like a stored number",
    (store, context) =>
      store.createHold({ ...request, holdId: `hold_${Math.random()}`, reference: '{"int64":"5"}' }, context),
  ],
  ["a commit", (store, context) => store.commitHold({ holdId: "hold_a" }, context)],
  ["a release", (store, context) => store.releaseHold({ holdId: "hold_a" }, context)],
];

const context = createContext({ idempotency: createIdempotency("key") });

/** Runs a test on a store with some pets, and a hold on one of them. */
function withHold(open: OpenStore, test: Parameters<typeof withPets>[1]): () => Promise<void> {
  return withPets(open, async (opened) => {
    await opened.store.createHold({ ...request, holdId: "hold_a" }, createContext());
    await test(opened);
  });
}

/** All that a write can change. */
async function stateOf(store: StockStore): Promise<unknown> {
  const holds = { petId: undefined, states: [], before: undefined, limit: 10 };
  return {
    entries: await Promise.all([1n, 2n, 3n].map((petId) => store.getEntry(petId))),
    bounds: await store.historyBounds(0),
    holds: await store.listHolds(holds, context.nowMs),
  };
}

export function describeIdempotency(open: OpenStore): void {
  describe("an idempotency key", () => {
    it.each(writes)("has %s done once, also over a restart and another handle", (_, write) =>
      withHold(open, async ({ store, openAnother, reopen }) => {
        const first = await write(store, context);
        expect(first.isReplayed).toBe(false);
        const state = await stateOf(store);
        const later = { ...context, nowMs: context.nowMs + idempotencyMs - 1, requestId: "later" };
        for (const open of [async () => store, openAnother, reopen]) {
          const again = await open();
          expect(await write(again, later)).toEqual({ value: first.value, isReplayed: true });
          expect(await stateOf(again)).toEqual(state);
        }
      })(),
    );

    it.each(writes)("is refused for another request: %s", (_, write) =>
      withHold(open, async ({ store }) => {
        await change(store, set(3n, 1n), { idempotency: createIdempotency("key", "other content") });
        const state = await stateOf(store);
        await expect(write(store, context)).rejects.toMatchObject({ code: "IDEMPOTENCY_KEY_REUSED" });
        expect(await stateOf(store)).toEqual(state);
      })(),
    );

    it(
      "is another one with another API key, and in other letters",
      withPets(open, async ({ store }) => {
        const contexts = [
          context,
          { ...context, keyId: "key_b" },
          { ...context, idempotency: createIdempotency("KEY") },
        ];
        for (const each of contexts) {
          expect((await store.changeStock(adjust(1n, -1n), each)).isReplayed).toBe(false);
        }
        expect((await store.getEntry(1n)).quantity).toBe(7n);
      }),
    );

    it(
      "does not meet others, whatever they are made of",
      withPets(open, async ({ store }) => {
        for (const [keyId, key] of [
          ["a", "bc"],
          ["ab", "c"],
          ["abc", ""],
          ["", "abc"],
        ] as const) {
          expect((await change(store, adjust(1n, 1n), { keyId, idempotency: createIdempotency(key) })).petId).toBe(1n);
        }
        expect((await store.getEntry(1n)).quantity).toBe(14n);
      }),
    );

    it(
      "is forgotten after 24 hours",
      withPets(open, async ({ store }) => {
        await store.changeStock(adjust(1n, -1n), context);
        const later = {
          ...context,
          nowMs: context.nowMs + idempotencyMs,
          idempotency: createIdempotency("key", "other content"),
        };
        expect((await store.changeStock(adjust(1n, -1n), later)).isReplayed).toBe(false);
        expect((await store.changeStock(adjust(1n, -1n), later)).isReplayed).toBe(true);
        expect((await store.getEntry(1n)).quantity).toBe(8n);
      }),
    );

    it(
      "is kept by housekeeping as long as it is remembered",
      withPets(open, async ({ store }) => {
        await store.changeStock(adjust(1n, -1n), context);
        const lastMs = context.nowMs + idempotencyMs - 1;
        await deleteAllOutdated(store, lastMs, lastMs);
        expect((await store.changeStock(adjust(1n, -1n), { ...context, nowMs: lastMs })).isReplayed).toBe(true);
      }),
    );

    it(
      "has one of 32 identical adjustments done",
      withPets(open, async ({ store, openAnother }) => {
        const stores = [store, await openAnother()];
        const all = await Promise.all(
          Array.from({ length: 32 }, (_, n) =>
            (stores[n % 2] as StockStore).changeStock(adjust(1n, -1n), { ...context, requestId: `${n}` }),
          ),
        );
        expect(all.filter(({ isReplayed }) => !isReplayed)).toHaveLength(1);
        expect(new Set(all.map(({ value }) => value.version)).size).toBe(1);
        expect((await store.getEntry(1n)).quantity).toBe(9n);
      }),
    );

    it(
      "is judged before versions: a retry whose own version is spent is replayed",
      withPets(open, async ({ store }) => {
        const versions = [(await store.getEntry(1n)).version];
        const first = await store.changeStock(set(1n, 5n, { versions }), context);
        await change(store, set(1n, 6n));
        expect(await store.changeStock(set(1n, 5n, { versions }), context)).toEqual({ ...first, isReplayed: true });
        const other = { ...context, idempotency: createIdempotency("key", "other content") };
        expect(await codesOf([store.changeStock(set(9n, 5n, { versions }), other)])).toEqual([
          "IDEMPOTENCY_KEY_REUSED",
        ]);
      }),
    );

    it.each([
      ["a command", (store: StockStore) => store.changeStock(adjust(1n, -11n), context)],
      [
        "an atomic batch",
        (store: StockStore) => store.changeStockInBatch([set(2n, 1n), adjust(1n, -11n)], true, context),
      ],
      ["a hold", (store: StockStore) => store.createHold({ ...request, holdId: "hold_b", quantity: 11n }, context)],
    ])("does not remember that %s was refused", (_, write) =>
      withPets(open, async ({ store }) => {
        const again: () => Promise<Written<unknown>> = () => write(store);
        expect(await codesOf([again(), again()])).toEqual(["INSUFFICIENT_STOCK", "INSUFFICIENT_STOCK"]);
        await change(store, adjust(1n, 1n));
        expect((await again()).isReplayed).toBe(false);
        expect((await again()).isReplayed).toBe(true);
      })(),
    );

    it(
      "remembers a batch whose changes are all refused",
      withPets(open, async ({ store }) => {
        const batch = () => store.changeStockInBatch([adjust(1n, -11n), set(9n, 1n)], false, context);
        const first = await batch();
        await change(store, adjust(1n, 1n));
        expect(await batch()).toEqual({ value: first.value, isReplayed: true });
        expect(first.value).toEqual([{ outcome: "insufficient", available: 10n }, { outcome: "unknown_pet" }]);
      }),
    );
  });
}
