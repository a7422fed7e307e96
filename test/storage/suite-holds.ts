import { describe, expect, it } from "vitest";
import type { Hold, HoldEnding, HoldRequest, HoldState } from "../../src/domain/hold.ts";
import { maxInt64, minInt64 } from "../../src/domain/ranges.ts";
import type { HoldQuery, StockStore, Store, WriteContext } from "../../src/domain/store.ts";
import type { OpenStore } from "./opened-store.ts";
import { createContext, createPet } from "./samples.ts";
import { adjust, change, codesOf, deleteAllOutdated, set, withPets } from "./stocked-pets.ts";

const startMs = 1_700_000_000_000;

/** Holds some of pet 1, of which there are 10, for a second. */
async function hold(
  store: StockStore,
  holdId: string,
  request: Partial<HoldRequest> = {},
  context: Partial<WriteContext> = {},
): Promise<Hold> {
  const whole = { holdId, petId: 1n, quantity: 4n, ttlMs: 1_000, reference: "cart 5", ...request };
  return (await store.createHold(whole, createContext({ nowMs: startMs, ...context }))).value;
}

const end =
  (name: "commitHold" | "releaseHold") =>
  async (store: StockStore, holdId: string, nowMs: number, note: Omit<HoldEnding, "holdId"> = {}): Promise<Hold> =>
    (await store[name]({ holdId, ...note }, createContext({ nowMs }))).value;
const commit = end("commitHold");
const release = end("releaseHold");

async function availableOf(store: StockStore, petId: bigint, nowMs: number): Promise<bigint> {
  const { quantity, held, available } = await store.getAvailability(petId, nowMs);
  expect(available).toBe(quantity - held);
  return available;
}

export function describeHolds(open: OpenStore): void {
  describe("a hold", () => {
    it(
      "is answered as it was asked for, and is there after a restart",
      withPets(open, async ({ store, reopen }) => {
        const held = await hold(store, "hold_a", {}, { keyId: "key_b" });
        expect(held).toEqual({
          id: "hold_a",
          petId: 1n,
          quantity: 4n,
          reference: "cart 5",
          state: "held",
          createdAtMs: startMs,
          expiresAtMs: startMs + 1_000,
          keyId: "key_b",
        });
        expect(await (await reopen()).getHold("hold_a", startMs)).toEqual(held);
      }),
    );

    it(
      "that is over is noted once, however many there are, and whatever ends it beside one that needs its stock",
      { timeout: 60_000 },
      withPets(open, async ({ store }) => {
        const count = 520;
        await change(store, set(1n, BigInt(count)));
        const numbers = Array.from({ length: count }, (_, number) => number);
        await Promise.all(numbers.map((number) => hold(store, `hold_${number}`, { quantity: 1n })));
        const context = { nowMs: startMs + 5_000 };
        // The first write is a group by itself; the others wait meanwhile, and share the next one.
        await Promise.all([
          change(store, set(1n, BigInt(count))),
          hold(store, "hold_all", { quantity: BigInt(count), ttlMs: 60_000 }, context),
          ...numbers.slice(-3).map((number) => release(store, `hold_${number}`, context.nowMs)),
        ]);
        expect(await availableOf(store, 1n, context.nowMs)).toBe(0n);
        expect(await codesOf([hold(store, "hold_one", { quantity: 1n }, context)])).toEqual(["INSUFFICIENT_STOCK"]);
      }),
    );

    it(
      "leaves quantity and version, and takes from what is available",
      withPets(open, async ({ store }) => {
        const entry = await store.getEntry(1n);
        await hold(store, "hold_a");
        expect(await store.getEntry(1n)).toEqual(entry);
        expect(await store.getAvailability(1n, startMs)).toEqual({ petId: 1n, quantity: 10n, held: 4n, available: 6n });
        expect(await store.getAvailability(2n, startMs)).toEqual({
          petId: 2n,
          quantity: 20n,
          held: 0n,
          available: 20n,
        });
      }),
    );

    it.each([
      ["all that there are", 1n, 10n, "done"],
      ["one more than there are", 1n, 11n, "INSUFFICIENT_STOCK"],
      ["the most", 1n, maxInt64, "INSUFFICIENT_STOCK"],
      ["some of an unknown pet", 9n, 1n, "PET_NOT_FOUND"],
    ])("of %s is granted or refused", (_, petId, quantity, outcome) =>
      withPets(open, async ({ store }) => {
        expect(await codesOf([hold(store, "hold_a", { petId, quantity })])).toEqual([outcome]);
        expect(await codesOf([store.getHold("hold_a", startMs)])).toEqual([
          outcome === "done" ? "done" : "HOLD_NOT_FOUND",
        ]);
      })(),
    );

    it(
      "of 64 over 40 is refused 24 times",
      withPets(open, async ({ store, openAnother }) => {
        const stores = [store, await openAnother()];
        await change(store, set(1n, 40n));
        const codes = await codesOf(
          Array.from({ length: 64 }, (_, n) => hold(stores[n % 2] as Store, `hold_${n}`, { quantity: 1n })),
        );
        expect(codes.filter((code) => code === "done")).toHaveLength(40);
        expect(codes.filter((code) => code === "INSUFFICIENT_STOCK")).toHaveLength(24);
        expect(await availableOf(store, 1n, startMs)).toBe(0n);
      }),
    );

    it(
      "keeps others from taking what it holds",
      withPets(open, async ({ store }) => {
        await hold(store, "hold_a");
        const context = { nowMs: startMs };
        await expect(change(store, adjust(1n, -7n), context)).rejects.toThrow("The available stock of pet 1 is 6.");
        await expect(hold(store, "hold_b", { quantity: 7n })).rejects.toThrow("The available stock of pet 1 is 6.");
        expect((await change(store, adjust(1n, -6n), context)).quantity).toBe(4n);
        expect((await change(store, adjust(1n, -1n, { allowNegative: true }), context)).quantity).toBe(3n);
        expect(await availableOf(store, 1n, startMs)).toBe(-1n);
        expect(await codesOf([change(store, adjust(1n, -1n), context)])).toEqual(["INSUFFICIENT_STOCK"]);
      }),
    );

    it(
      "is ignored by what sets a quantity",
      withPets(open, async ({ store }) => {
        await hold(store, "hold_a");
        await change(store, set(1n, 1n), { nowMs: startMs });
        expect(await availableOf(store, 1n, startMs)).toBe(-3n);
        await store.importAll({ pets: [createPet({ id: 1n, quantity: 5n })] }, startMs);
        expect(await store.getAvailability(1n, startMs)).toEqual({ petId: 1n, quantity: 5n, held: 4n, available: 1n });
      }),
    );

    it(
      "leaves the smallest int64 available at least",
      withPets(open, async ({ store }) => {
        await hold(store, "hold_a");
        await change(store, set(1n, minInt64 + 3n), { nowMs: startMs });
        expect((await store.getAvailability(1n, startMs)).available).toBe(minInt64);
        await expect(change(store, adjust(1n, -1n), { nowMs: startMs })).rejects.toThrow(
          `The available stock of pet 1 is ${minInt64}.`,
        );
        expect(await codesOf([hold(store, "hold_b", { quantity: 1n })])).toEqual(["INSUFFICIENT_STOCK"]);
      }),
    );

    it(
      "is not found where there is none",
      withPets(open, async ({ store }) => {
        await hold(store, "hold_a");
        const calls = [
          store.getHold("hold_b", startMs),
          commit(store, "hold_b", startMs),
          release(store, "hold_b", startMs),
        ];
        expect(await codesOf(calls)).toEqual(["HOLD_NOT_FOUND", "HOLD_NOT_FOUND", "HOLD_NOT_FOUND"]);
      }),
    );
  });

  describeExpiry(open);
  describeEnds(open);
  describeHoldLists(open);
}

function describeExpiry(open: OpenStore): void {
  describe("a hold that expires", () => {
    it(
      "is over to the millisecond for every judgement",
      withPets(open, async ({ store }) => {
        await hold(store, "hold_a", { quantity: 10n });
        const lastMs = startMs + 999;
        expect((await store.getHold("hold_a", lastMs)).state).toBe("held");
        expect(await availableOf(store, 1n, lastMs)).toBe(0n);
        expect(await codesOf([change(store, adjust(1n, -1n), { nowMs: lastMs })])).toEqual(["INSUFFICIENT_STOCK"]);
        expect(await codesOf([hold(store, "hold_b", { quantity: 1n }, { nowMs: lastMs })])).toEqual([
          "INSUFFICIENT_STOCK",
        ]);
        expect((await store.getHold("hold_a", lastMs + 1)).state).toBe("expired");
        expect(await availableOf(store, 1n, lastMs + 1)).toBe(10n);
        expect(await codesOf([commit(store, "hold_a", lastMs + 1)])).toEqual(["HOLD_ENDED"]);
        await hold(store, "hold_b", { quantity: 1n }, { nowMs: lastMs + 1 });
        expect((await change(store, adjust(1n, -9n), { nowMs: lastMs + 1 })).quantity).toBe(1n);
      }),
    );

    it.each([
      ["a hold", (store: StockStore, nowMs: number) => hold(store, "hold_b", { quantity: 10n }, { nowMs })],
      ["an adjustment", (store: StockStore, nowMs: number) => change(store, adjust(1n, -10n), { nowMs })],
      [
        "a refused adjustment",
        (store: StockStore, nowMs: number) => change(store, adjust(1n, -11n), { nowMs }).catch(() => {}),
      ],
      ["a refused commit", (store: StockStore, nowMs: number) => commit(store, "hold_a", nowMs).catch(() => {})],
      ["a release", (store: StockStore, nowMs: number) => release(store, "hold_a", nowMs)],
      [
        "a batch",
        (store: StockStore, nowMs: number) =>
          store.changeStockInBatch([adjust(1n, -10n)], true, createContext({ nowMs })),
      ],
    ])("stays over when the clock is set back, once %s was judged by it", (_, judge) =>
      withPets(open, async ({ store }) => {
        await hold(store, "hold_a");
        await judge(store, startMs + 1_000);
        expect((await store.getHold("hold_a", startMs)).state).toBe("expired");
        expect(await codesOf([commit(store, "hold_a", startMs)])).toEqual(["HOLD_ENDED"]);
      })(),
    );

    it(
      "leaves the holds of others, and those that go on",
      withPets(open, async ({ store }) => {
        await hold(store, "hold_a", { quantity: 1n });
        await hold(store, "hold_b", { quantity: 2n, ttlMs: 2_000 });
        await hold(store, "hold_c", { quantity: 4n, petId: 2n });
        await change(store, adjust(1n, -8n), { nowMs: startMs + 1_000 });
        expect(await store.getAvailability(1n, startMs + 1_000)).toEqual({
          petId: 1n,
          quantity: 2n,
          held: 2n,
          available: 0n,
        });
        expect((await store.getAvailability(2n, startMs)).held).toBe(4n);
        expect((await store.getAvailability(1n, startMs + 2_000)).held).toBe(0n);
      }),
    );

    it(
      "is noted by housekeeping, which changes no judgement",
      withPets(open, async ({ store }) => {
        await hold(store, "hold_a", { quantity: 1n });
        await hold(store, "hold_b", { quantity: 2n, ttlMs: 2_000 });
        await deleteAllOutdated(store, 0, startMs + 1_000);
        expect(await store.getAvailability(1n, startMs + 1_000)).toEqual({
          petId: 1n,
          quantity: 10n,
          held: 2n,
          available: 8n,
        });
        expect((await store.getHold("hold_a", startMs)).state).toBe("expired");
        expect((await store.getHold("hold_b", startMs + 1_000)).state).toBe("held");
      }),
    );
  });
}

function describeEnds(open: OpenStore): void {
  describe("the end of a hold", () => {
    it(
      "by a commit takes its quantity off the stock",
      withPets(open, async ({ store }) => {
        const held = await hold(store, "hold_a");
        const { version } = await store.getEntry(1n);
        const { head } = await store.historyBounds(0);
        expect(await commit(store, "hold_a", startMs + 1)).toEqual({ ...held, state: "committed" });
        const entry = await store.getEntry(1n);
        expect(entry.quantity).toBe(6n);
        expect(entry.version).not.toBe(version);
        expect(await store.getAvailability(1n, startMs)).toEqual({ petId: 1n, quantity: 6n, held: 0n, available: 6n });
        const { changes } = await store.listChanges({ after: head, petIds: [], newestFirst: false, limit: 10 });
        expect(changes).toEqual([
          {
            revision: head + 1n,
            petId: 1n,
            before: 10n,
            after: 6n,
            kind: "hold",
            reason: undefined,
            reference: "cart 5",
            keyId: "key_a",
            requestId: "request",
            occurredAtMs: startMs + 1,
          },
        ]);
      }),
    );

    it(
      "by a commit carries what is said of it, in place of the hold's reference",
      withPets(open, async ({ store }) => {
        const { head } = await store.historyBounds(0);
        await hold(store, "hold_a");
        await commit(store, "hold_a", startMs, { reason: "sale", reference: "order 17" });
        const { changes } = await store.listChanges({ after: head, petIds: [], newestFirst: false, limit: 10 });
        expect(changes).toMatchObject([{ reason: "sale", reference: "order 17" }]);
      }),
    );

    it(
      "by a commit succeeds, though the stock was set below it",
      withPets(open, async ({ store }) => {
        await hold(store, "hold_a");
        await change(store, set(1n, 1n), { nowMs: startMs });
        await commit(store, "hold_a", startMs);
        expect((await store.getEntry(1n)).quantity).toBe(-3n);
      }),
    );

    it(
      "by a commit is refused where the result is out of range, and may be made later",
      withPets(open, async ({ store }) => {
        await hold(store, "hold_a");
        await change(store, set(1n, minInt64 + 3n), { nowMs: startMs });
        expect(await codesOf([commit(store, "hold_a", startMs)])).toEqual(["QUANTITY_OUT_OF_RANGE"]);
        expect((await store.getHold("hold_a", startMs)).state).toBe("held");
        await change(store, set(1n, minInt64 + 4n), { nowMs: startMs });
        await commit(store, "hold_a", startMs);
        expect((await store.getEntry(1n)).quantity).toBe(minInt64);
      }),
    );

    it(
      "by a release gives back what it held, and is no change",
      withPets(open, async ({ store }) => {
        const held = await hold(store, "hold_a");
        const [entry, bounds] = [await store.getEntry(1n), await store.historyBounds(0)];
        expect(await release(store, "hold_a", startMs + 1)).toEqual({ ...held, state: "released" });
        expect(await availableOf(store, 1n, startMs + 1)).toBe(10n);
        expect([await store.getEntry(1n), await store.historyBounds(0)]).toEqual([entry, bounds]);
      }),
    );

    it.each([
      ["commit", commit, commit, "committed", 6n],
      ["commit", commit, release, "HOLD_ENDED", 6n],
      ["release", release, release, "released", 10n],
      ["release", release, commit, "HOLD_ENDED", 10n],
    ])("by a %s is the only one", (_, first, second, outcome, quantity) =>
      withPets(open, async ({ store }) => {
        await hold(store, "hold_a");
        const held = await first(store, "hold_a", startMs);
        const entry = await store.getEntry(1n);
        for (const nowMs of [startMs, startMs + 5_000]) {
          const again = second(store, "hold_a", nowMs);
          await (outcome === "HOLD_ENDED"
            ? expect(again).rejects.toMatchObject({ code: outcome })
            : expect(again).resolves.toEqual({ ...held, state: outcome }));
        }
        expect(await store.getEntry(1n)).toEqual(entry);
        expect(entry.quantity).toBe(quantity);
        expect(await availableOf(store, 1n, startMs)).toBe(quantity);
      })(),
    );

    it(
      "by its time answers a release, and refuses a commit",
      withPets(open, async ({ store }) => {
        const held = await hold(store, "hold_a");
        expect(await release(store, "hold_a", startMs + 1_000)).toEqual({ ...held, state: "expired" });
        await expect(commit(store, "hold_a", startMs + 1_000)).rejects.toThrow("it is expired");
        expect(await availableOf(store, 1n, startMs + 1_000)).toBe(10n);
      }),
    );

    it.each([
      ["commit", commit],
      ["release", release],
    ])("by its time is then, though a %s notes it an hour later", (_, endLate) =>
      withPets(open, async ({ store }) => {
        await hold(store, "hold_a");
        const [endMs, nowMs] = [startMs + 1_000, startMs + 3_600_000];
        await endLate(store, "hold_a", nowMs).catch(() => {});
        await deleteAllOutdated(store, endMs, nowMs);
        expect(await codesOf([store.getHold("hold_a", nowMs)])).toEqual(["done"]);
        await deleteAllOutdated(store, endMs + 1, nowMs);
        expect(await codesOf([store.getHold("hold_a", nowMs)])).toEqual(["HOLD_NOT_FOUND"]);
      })(),
    );

    it(
      "comes once, of 16 commits and releases",
      withPets(open, async ({ store, openAnother }) => {
        const stores = [store, await openAnother()];
        await hold(store, "hold_a");
        const ends = Array.from({ length: 16 }, (_, n) =>
          (n % 4 < 2 ? commit : release)(stores[n % 2] as Store, "hold_a", startMs),
        );
        const states = (await Promise.allSettled(ends)).map((ended) =>
          ended.status === "fulfilled" ? ended.value.state : "refused",
        );
        const { state } = await store.getHold("hold_a", startMs);
        expect(new Set(states)).toEqual(new Set(["refused", state]));
        expect((await store.getEntry(1n)).quantity).toBe(state === "committed" ? 6n : 10n);
      }),
    );
  });
}

function describeHoldLists(open: OpenStore): void {
  /** Five of pets 1 and 2, in each state one, and hold_e that is over without anybody having noted it. */
  const fill = async (store: StockStore) => {
    await hold(store, "hold_a", { quantity: 1n, ttlMs: 60_000 });
    await hold(store, "hold_b", { quantity: 1n, petId: 2n });
    await hold(store, "hold_c", { quantity: 1n });
    await hold(store, "hold_d", { quantity: 1n, petId: 2n });
    await commit(store, "hold_b", startMs);
    await release(store, "hold_c", startMs);
    await release(store, "hold_d", startMs + 1_000);
    await hold(store, "hold_e", { quantity: 1n, ttlMs: 2_000 });
  };
  const idsOf = async (store: StockStore, query: Partial<HoldQuery>, nowMs = startMs + 2_000) => {
    const holds = await store.listHolds(
      { petId: undefined, states: [], before: undefined, limit: 10, ...query },
      nowMs,
    );
    return holds.map(({ id }) => id.slice(-1)).join("");
  };
  const lists: [query: Partial<HoldQuery>, ids: string][] = [
    [{}, "edcba"],
    [{ limit: 2 }, "ed"],
    [{ petId: 1n }, "eca"],
    [{ petId: 2n }, "db"],
    [{ petId: 9n }, ""],
    [{ states: ["held"] }, "a"],
    [{ states: ["committed"] }, "b"],
    [{ states: ["released"] }, "c"],
    [{ states: ["expired"] }, "ed"],
    [{ states: ["expired"], limit: 1 }, "e"],
    [{ states: ["expired", "held", "committed"] }, "edba"],
    [{ petId: 1n, states: ["expired"] }, "e"],
    [{ petId: 2n, states: ["expired", "released"] }, "d"],
  ];

  describe("a list of holds", () => {
    it.each(lists)("by %o is, newest first, %s", (query, ids) =>
      withPets(open, async ({ store }) => {
        await fill(store);
        expect(await idsOf(store, query)).toBe(ids);
      })(),
    );

    it(
      "judges by the time of the question",
      withPets(open, async ({ store }) => {
        await fill(store);
        expect(await idsOf(store, { states: ["held"] }, startMs + 1_999)).toBe("ea");
        expect(await idsOf(store, { states: ["expired"] }, startMs + 1_999)).toBe("d");
      }),
    );

    it(
      "tells all of each hold, with its state then",
      withPets(open, async ({ store }) => {
        await fill(store);
        const nowMs = startMs + 2_000;
        const holds = await store.listHolds({ petId: undefined, states: [], before: undefined, limit: 10 }, nowMs);
        expect(holds.map(({ state }): HoldState => state)).toEqual([
          "expired",
          "expired",
          "released",
          "committed",
          "held",
        ]);
        for (const { position: _, ...listed } of holds) {
          expect(listed).toEqual(await store.getHold(listed.id, nowMs));
        }
      }),
    );

    it(
      "goes on below a position, and positions are not given twice",
      withPets(open, async ({ store, reopen }) => {
        await fill(store);
        const [first, second] = await store.listHolds(
          { petId: undefined, states: [], before: undefined, limit: 2 },
          startMs,
        );
        expect(await idsOf(store, { before: second?.position })).toBe("cba");
        expect(await idsOf(store, { before: second?.position, limit: 1, states: ["released", "held"] })).toBe("c");
        await deleteAllOutdated(store, startMs + 10 ** 9, startMs + 10 ** 9);
        const reopened = await reopen();
        await hold(reopened, "hold_f", {}, { nowMs: startMs + 10 ** 9 });
        const [later] = await reopened.listHolds(
          { petId: undefined, states: [], before: undefined, limit: 1 },
          startMs,
        );
        expect(later?.position).toBeGreaterThan(first?.position as bigint);
      }),
    );
  });
}
