import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { ChangeQuery, StockChange } from "../../src/domain/history.ts";
import { idempotencyMs } from "../../src/domain/idempotency.ts";
import type { Store, WriteContext } from "../../src/domain/store.ts";
import { type OpenStore, withStore } from "./opened-store.ts";
import { createContext, createIdempotency, createPet, everything, setStock } from "./samples.ts";

const all: ChangeQuery = { after: 0n, petIds: [], newestFirst: false, limit: 1_000 };

export function describeHistory(open: OpenStore): void {
  describe("the history", () => {
    it(
      "is empty at first",
      withStore(open, async ({ store }) => {
        expect(await store.historyBounds(0)).toMatchObject({ head: 0n, oldest: 1n });
        expect(await store.listChanges(all)).toEqual({ changes: [], searchedTo: undefined });
      }),
    );

    it(
      "tells of each write who made it, when and why, and what the count was before and after it",
      withStore(open, async ({ store }) => {
        const context = createContext({ nowMs: 20, keyId: "key_b", requestId: "request 1" });
        const [reason, reference] = ["sale", "order 17"];
        await store.importAll({ pets: [createPet({ id: 7n, quantity: 5n })] }, 10);
        await store.changeStock({ kind: "set", petId: 7n, quantity: 5n }, context);
        await store.changeStock(
          { kind: "adjust", petId: 7n, delta: -2n, allowNegative: false, reason, reference },
          context,
        );
        const hold = { holdId: "hold_a", petId: 7n, quantity: 1n, ttlMs: 1_000, reference: "cart 5" };
        await store.createHold(hold, context);
        await store.commitHold({ holdId: "hold_a" }, context);
        const note = { reason: undefined, reference: undefined };
        const caller = { petId: 7n, keyId: "key_b", requestId: "request 1", occurredAtMs: 20 };
        const command = { petId: 7n, keyId: undefined, requestId: undefined, occurredAtMs: 10 };
        expect((await store.listChanges(all)).changes).toEqual([
          { ...command, ...note, revision: 1n, kind: "import", before: undefined, after: 5n },
          { ...caller, ...note, revision: 2n, kind: "set", before: 5n, after: 5n },
          { ...caller, revision: 3n, kind: "adjust", before: 5n, after: 3n, reason, reference },
          { ...caller, ...note, revision: 4n, kind: "hold", before: 3n, after: 2n, reference: "cart 5" },
        ]);
      }),
    );

    it(
      "keeps all texts as they are",
      withStore(open, async ({ store }) => {
        const texts = ["", "NULL", "null", "\\N", "\\", 'say "hi"', "{a,b}", "a\tb\nc", "\0 and \uE000", "Zoë 🐈"];
        await store.importAll({ pets: texts.map((_, index) => createPet({ id: BigInt(index) })) }, 0);
        const writeAll = (keyOf: (text: string) => Partial<WriteContext>) =>
          Promise.all(
            texts.map((text, index) => {
              const note = { reason: text, reference: text };
              const context = createContext({ keyId: text, requestId: text, ...keyOf(text) });
              return store.changeStock({ kind: "set", petId: BigInt(index), quantity: 1n, ...note }, context);
            }),
          );
        await writeAll(() => ({}));
        await writeAll((text) => ({ idempotency: createIdempotency(`key ${text}`) }));
        const { changes } = await store.listChanges({ ...all, after: BigInt(texts.length) });
        const noted = changes.map(({ reason, reference, keyId, requestId }) => [reason, reference, keyId, requestId]);
        expect(noted).toEqual([...texts, ...texts].map((text) => [text, text, text, text]));
      }),
    );

    it(
      "counts without a gap, whoever writes, and goes on after a restart",
      withStore(open, async ({ store, openAnother, reopen }) => {
        const other = await openAnother();
        await store.importAll({ pets: [createPet({ id: 1n }), createPet({ id: 2n })] }, 0);
        const { lineage } = await store.historyBounds(0);
        await Promise.all(
          Array.from({ length: 40 }, (_, n) =>
            setStock(n % 2 === 0 ? store : other, BigInt(1 + (n % 3 === 0 ? 1 : 0)), 1n),
          ),
        );
        await setStock(store, 9n, 1n).catch(() => {});
        const again = await reopen();
        await setStock(again, 1n, 1n);
        const revisions = (await again.listChanges(all)).changes.map(({ revision }) => revision);
        expect(revisions).toEqual(Array.from({ length: 43 }, (_, n) => BigInt(n + 1)));
        expect(await again.historyBounds(0)).toEqual({ lineage, head: 43n, oldest: 1n });
      }),
    );

    it(
      "of a pet that there is not is not found",
      withStore(open, async ({ store }) => {
        await store.importAll({ pets: [createPet({ id: 1n })] }, 0);
        for (const petIds of [[2n], [1n, 2n]]) {
          await expect(store.listChanges({ ...all, petIds })).rejects.toMatchObject({ code: "PET_NOT_FOUND" });
          const beyond = { ...all, petIds, after: 1_000n };
          await expect(store.listChanges(beyond)).rejects.toMatchObject({ code: "PET_NOT_FOUND" });
        }
      }),
    );

    it(
      "is listed from any place, in both directions, by pets and by what crosses a count",
      withStore(open, async ({ store }) => {
        const history = await writeMany(store);
        await checkQueries(store, history);
      }),
    );

    it.each([
      ["100 pets, which have one each", 100, 0, { limit: 101 }],
      ["10 pets, which have 100 each", 10, 99, { limit: 1_001 }],
      ["100 pets, of which none crosses a count", 100, 0, { limit: 1_001, crossing: -1n }],
    ] as const)("is searched to its end with the last change of %s", (_name, pets, changes, query) =>
      withStore(open, async ({ store }) => {
        const petIds = Array.from({ length: pets }, (_, id) => BigInt(id));
        await store.importAll({ pets: petIds.map((id) => createPet({ id })) }, 0);
        for (let change = 1; change <= changes; change += 1) {
          await Promise.all(petIds.map((id) => setStock(store, id, BigInt(change))));
        }
        for (const newestFirst of [false, true]) {
          const page = await store.listChanges({ ...all, petIds, newestFirst, ...query });
          expect(page.searchedTo).toBeUndefined();
        }
      })(),
    );

    it(
      "gives the inventory as it was after each revision",
      withStore(open, async ({ store }) => {
        const history = await writeMany(store);
        await store.importAll({ pets: [createPet({ id: 4n, quantity: 3n }), createPet({ id: 7n })] }, 0);
        const statuses = ["available"] as const;
        for (let asOf = 0n; asOf <= BigInt(history.length); asOf += 7n) {
          const state = stateBehind(history, asOf);
          expect(await store.listInventory({ ...everything, asOf })).toEqual(state);
          const [after, limit] = [2n, 2];
          const part = state.filter(({ petId, status }) => petId > after && status === "available").slice(0, limit);
          expect(await store.listInventory({ statuses, after, limit, asOf })).toEqual(part);
        }
        const asOf = BigInt(history.length + 1);
        expect((await store.listInventory({ ...everything, asOf })).map(({ petId }) => petId)).toEqual([
          1n,
          2n,
          3n,
          4n,
          5n,
          6n,
        ]);
        expect(await store.listInventory({ ...everything, asOf: asOf + 1n })).toEqual(
          await store.listInventory(everything),
        );
      }),
    );

    it(
      "gives pages of the inventory as it was without the pets that have come since, wherever their ids are",
      withStore(open, async ({ store }) => {
        const importPets = (ids: readonly bigint[]) =>
          store.importAll({ pets: ids.map((id) => createPet({ id, quantity: id })) }, 0);
        const former = [10n, 20n, 30n, 40n, 50n];
        await importPets(former);
        await importPets([1n, 2n, 3n, 4n, 11n, 21n, 22n, 23n, 24n, 25n, 41n, 51n, 52n, 53n, 54n]);
        for (const limit of [1, 2, 3, 4, 5, 6]) {
          for (const after of [undefined, 3n, 10n, 23n, 40n, 50n, 52n]) {
            const items = await store.listInventory({ statuses: [], after, limit, asOf: 5n });
            const page = former.filter((id) => after === undefined || id > after).slice(0, limit);
            expect(items).toEqual(page.map((id) => ({ petId: id, quantity: id, status: "available" })));
          }
        }
      }),
    );

    it(
      "has no statuses: the inventory as it was has the present ones, which the filter goes by",
      withStore(open, async ({ store }) => {
        await store.importAll({ pets: [createPet({ id: 1n, quantity: 5n, status: "available" })] }, 0);
        await store.importAll({ pets: [createPet({ id: 1n, quantity: 9n, status: "sold" })] }, 0);
        const query = { ...everything, asOf: 1n };
        expect(await store.listInventory(query)).toEqual([{ petId: 1n, quantity: 5n, status: "sold" }]);
        expect(await store.listInventory({ ...query, statuses: ["available"] })).toEqual([]);
      }),
    );
  });

  describe("what is past its time", () => {
    it(
      "is no part of the history, whether it is deleted or not",
      withStore(open, async ({ store }) => {
        await store.importAll({ pets: [createPet({ id: 1n })] }, 0);
        expect(await store.historyBounds(-Infinity)).toMatchObject({ head: 1n, oldest: 1n });
        for (let nowMs = 1; nowMs <= 9; nowMs += 1) {
          await store.changeStock({ kind: "set", petId: 1n, quantity: 1n }, createContext({ nowMs }));
        }
        const bounds = async (keptSinceMs: number) => (await store.historyBounds(keptSinceMs)).oldest;
        expect([await bounds(0), await bounds(1), await bounds(6), await bounds(9), await bounds(9.5)]).toEqual([
          1n,
          2n,
          7n,
          10n,
          11n,
        ]);
        await deleteAll(store, 6);
        expect([await bounds(-Infinity), await bounds(5), await bounds(6), await bounds(7), await bounds(10)]).toEqual([
          7n,
          7n,
          7n,
          8n,
          11n,
        ]);
        expect((await store.listChanges(all)).changes.map(({ occurredAtMs }) => occurredAtMs)).toEqual([6, 7, 8, 9]);
      }),
    );

    const [day, now] = [86_400_000, Date.UTC(2026, 0, 1)];
    const since = now - 90 * day;
    for (const [clock, wrongMs] of [
      ["behind", day],
      ["ahead", now + 3_650 * day],
    ] as const) {
      it(
        `is told by the changes around those of a moment in which the clock was years ${clock}`,
        withStore(open, async ({ store }) => {
          await store.importAll({ pets: [createPet({ id: 1n })] }, since - 2);
          const change = async (nowMs: number, count: number) => {
            const context = createContext({ nowMs });
            const writes = Array.from({ length: count }, () =>
              store.changeStock({ kind: "set", petId: 1n, quantity: 1n }, context),
            );
            await Promise.all(writes);
          };
          // 1 + 9 outdated changes; 100 that are kept; 3 of the moment, in the middle; 107 that are kept.
          await change(wrongMs, 3);
          await change(since - 1, 6);
          await change(since, 100);
          await change(wrongMs, 3);
          await change(now, 107);
          await deleteAll(store, since, now);
          const { changes } = await store.listChanges(all);
          expect(changes.map(({ revision }) => revision)).toEqual(
            Array.from({ length: 210 }, (_, n) => BigInt(n + 11)),
          );
          expect((await store.historyBounds(since)).oldest).toBe(11n);
        }),
      );
    }

    it.each([
      ["outdated", 100, 2_601n],
      ["to be kept", 0, 1n],
    ] as const)(
      "is told by the first change after thousands that are dated ahead, which is %s",
      (_name, outdated, oldest) =>
        withStore(open, async ({ store }) => {
          const importMany = (count: number, nowMs: number) =>
            store.importAll({ pets: Array.from({ length: count }, (_, id) => createPet({ id: BigInt(id) })) }, nowMs);
          await importMany(2_500, now + 3_650 * day);
          await importMany(outdated, since - 1);
          await importMany(100, now);
          await deleteAll(store, since, now);
          expect(await store.historyBounds(since)).toMatchObject({ oldest, head: 2_600n + BigInt(outdated) });
          expect(await store.historyBounds(0)).toMatchObject({ oldest });
        })(),
    );

    it(
      "is deleted but for the newest change, from which the next ones are counted",
      withStore(open, async ({ store, reopen }) => {
        await store.importAll({ pets: [createPet({ id: 1n }), createPet({ id: 2n })] }, 0);
        await setStock(store, 1n, 1n);
        await deleteAll(store, Infinity);
        expect((await store.listChanges(all)).changes).toMatchObject([{ revision: 3n }]);
        const again = await reopen();
        expect(await again.historyBounds(Infinity)).toMatchObject({ head: 3n, oldest: 4n });
        await setStock(again, 2n, 2n);
        const { changes } = await again.listChanges({ ...all, petIds: [2n] });
        expect(changes).toMatchObject([{ revision: 4n, before: 0n, after: 2n }]);
        expect((await again.listChanges({ ...all, petIds: [1n, 2n], newestFirst: true })).changes).toMatchObject([
          { revision: 4n },
          { revision: 3n },
        ]);
      }),
    );

    it(
      "leaves what is not to be listed as before",
      withStore(open, async ({ store }) => {
        const history = await writeMany(store);
        const cut = 400;
        await deleteAll(store, cut);
        const kept = history.filter(({ occurredAtMs }) => occurredAtMs >= cut);
        expect(kept.length).toBeGreaterThan(200);
        await checkQueries(store, kept);
        const oldest = (kept[0] as StockChange).revision;
        for (const asOf of [oldest - 1n, oldest + 50n]) {
          expect(await store.listInventory({ ...everything, asOf })).toEqual(stateBehind(history, asOf));
        }
        const gone = store.listInventory({ ...everything, asOf: oldest - 2n });
        await expect(gone).rejects.toMatchObject({ code: "UNAVAILABLE" });
      }),
    );

    it(
      "are holds that have ended before, too",
      withStore(open, async ({ store }) => {
        await store.importAll({ pets: [createPet({ id: 1n, quantity: 9n })] }, 0);
        const create = (holdId: string, ttlMs: number) =>
          store.createHold(
            { holdId, petId: 1n, quantity: 1n, ttlMs, reference: undefined },
            createContext({ nowMs: 1_000 }),
          );
        await create("expired", 1_000);
        await create("expired later", 3_000);
        await create("held", 9_000);
        await create("released", 9_000);
        await store.releaseHold({ holdId: "released" }, createContext({ nowMs: 1_500 }));
        await deleteAll(store, 2_500, 5_000);
        const holds = await store.listHolds({ petId: undefined, states: [], before: undefined, limit: 10 }, 5_000);
        expect(holds.map(({ id, state }) => [id, state])).toEqual([
          ["held", "held"],
          ["expired later", "expired"],
        ]);
        expect(await store.getAvailability(1n, 5_000)).toMatchObject({ held: 1n, available: 8n });
        // What was once noted to be over stays so, though a clock is set back.
        expect(await store.getHold("expired later", 3_500)).toMatchObject({ state: "expired" });
      }),
    );

    it(
      "are idempotency records of a day ago, whatever the history keeps",
      withStore(open, async ({ store }) => {
        await store.importAll({ pets: [createPet({ id: 1n, quantity: 9n })] }, 0);
        const take = (nowMs: number, key: string) =>
          store.changeStock(
            { kind: "adjust", petId: 1n, delta: -1n, allowNegative: false },
            createContext({ nowMs, idempotency: createIdempotency(key) }),
          );
        await take(0, "a");
        await take(1, "b");
        await deleteAll(store, -Infinity, idempotencyMs);
        expect(await take(idempotencyMs - 1, "b")).toMatchObject({ isReplayed: true, value: { quantity: 7n } });
        expect(await take(idempotencyMs - 1, "a")).toMatchObject({ isReplayed: false, value: { quantity: 6n } });
        expect((await store.historyBounds(-Infinity)).oldest).toBe(1n);
      }),
    );
  });
}

/** Deletes all that is past its time. */
async function deleteAll(store: Store, keptSinceMs: number, nowMs = 0): Promise<void> {
  while (await store.deleteOutdated(keptSinceMs, nowMs)) {
    // The next step.
  }
}

/** Writes a history of several pets: one that changes most of the time, others rarely, and one that never changes again. */
async function writeMany(store: Store): Promise<readonly StockChange[]> {
  const ids = [1n, 2n, 3n, 4n, 5n, 6n];
  await store.importAll({ pets: ids.map((id) => createPet({ id, quantity: 5n })) }, 0);
  const writes = Array.from({ length: 700 }, (_, n) => {
    const petId = n % 5 === 0 ? 2n : n % 17 === 0 ? 3n : n % 101 === 0 ? 4n : n === 350 ? 6n : 1n;
    const quantity = BigInt((n * 7919) % 11);
    return store.changeStock({ kind: "set", petId, quantity }, createContext({ nowMs: n }));
  });
  await Promise.all(writes);
  return (await store.listChanges({ ...all, limit: 10_000 })).changes;
}

function stateBehind(history: readonly StockChange[], asOf: bigint) {
  const quantities = new Map(
    history.filter(({ revision }) => revision <= asOf).map(({ petId, after }) => [petId, after]),
  );
  return [...quantities]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([petId, quantity]) => ({ petId, quantity, status: "available" }));
}

const position = fc.bigInt(0n, 750n);

const queries: fc.Arbitrary<ChangeQuery> = fc.record({
  after: fc.oneof(position, fc.constant(0n)),
  before: fc.option(position, { nil: undefined }),
  petIds: fc.uniqueArray(fc.bigInt(1n, 6n), { maxLength: 6 }),
  crossing: fc.option(fc.bigInt(-1n, 11n), { nil: undefined }),
  newestFirst: fc.boolean(),
  limit: fc.integer({ min: 1, max: 400 }),
});

/** Compares what is listed with what a filter leaves of the whole history. */
async function checkQueries(store: Store, history: readonly StockChange[]): Promise<void> {
  await fc.assert(
    fc.asyncProperty(queries, async (query) => {
      expect(await readAll(store, query)).toEqual(select(history, query));
    }),
    { numRuns: 150 },
  );
}

function select(history: readonly StockChange[], query: ChangeQuery): readonly bigint[] {
  const { after, before, petIds, crossing, newestFirst } = query;
  const revisions = history
    .filter(({ revision }) => revision > after && (before === undefined || revision < before))
    .filter(({ petId }) => petIds.length === 0 || petIds.includes(petId))
    .filter((change) => crossing === undefined || (change.before ?? -1_000n) > crossing)
    .filter((change) => crossing === undefined || change.after <= crossing)
    .map(({ revision }) => revision);
  return newestFirst ? revisions.reverse() : revisions;
}

/** Reads on until the history was searched to its end. */
async function readAll(store: Store, query: ChangeQuery): Promise<readonly bigint[]> {
  const revisions: bigint[] = [];
  let next: ChangeQuery | undefined = query;
  while (next !== undefined) {
    const { changes, searchedTo } = await store.listChanges(next);
    expect(changes.length).toBeLessThanOrEqual(query.limit);
    revisions.push(...changes.map(({ revision }) => revision));
    const reached: bigint | undefined = changes.length === query.limit ? revisions.at(-1) : searchedTo;
    next = reached === undefined ? undefined : { ...next, [query.newestFirst ? "before" : "after"]: reached };
  }
  return revisions;
}
