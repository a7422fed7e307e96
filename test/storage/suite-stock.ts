import { describe, expect, it } from "vitest";
import { maxInt64, minInt64 } from "../../src/domain/ranges.ts";
import type { StockCommand, StockEntry } from "../../src/domain/stock.ts";
import type { CommittedChanges, Store } from "../../src/domain/store.ts";
import type { OpenStore } from "./opened-store.ts";
import { createContext, createPet } from "./samples.ts";
import { adjust, change, codesOf, set, withPets } from "./stocked-pets.ts";

export function describeStock(open: OpenStore): void {
  describe("an entry of the stock", () => {
    it(
      "is answered with its version, alike by every handle and after a restart",
      withPets(open, async (opened) => {
        const { petId, quantity, status, version } = await opened.store.getEntry(1n);
        expect({ petId, quantity, status }).toEqual({ petId: 1n, quantity: 10n, status: "available" });
        expect(version).toMatch(/^[\x21\x23-\x7e]+$/);
        expect(await (await opened.openAnother()).getEntry(1n)).toEqual({ petId, quantity, status, version });
        expect(await (await opened.reopen()).getEntry(1n)).toEqual({ petId, quantity, status, version });
      }),
    );

    it(
      "is refused for a pet that there is not",
      withPets(open, async ({ store }) => {
        expect(await codesOf([store.getEntry(9n), store.getAvailability(9n, 0)])).toEqual([
          "PET_NOT_FOUND",
          "PET_NOT_FOUND",
        ]);
      }),
    );
  });

  describeVersions(open);
  describeCommands(open);
  describeBatches(open);
  describeTold(open);
}

function describeVersions(open: OpenStore): void {
  const writes: [name: string, write: (store: Store) => Promise<unknown>, isNew: boolean][] = [
    ["a new stock count", (store) => change(store, set(1n, 5n)), true],
    ["the same stock count", (store) => change(store, set(1n, 10n)), true],
    ["an adjustment", (store) => change(store, adjust(1n, -1n)), true],
    ["a batch", (store) => store.changeStockInBatch([set(1n, 5n)], false, createContext()), true],
    ["an import of the pet", (store) => store.importAll({ pets: [createPet({ id: 1n })] }, 0), true],
    ["an import of its status", (store) => store.importAll({ pets: [{ id: 1n, status: "sold" }] }, 0), true],
    ["an import of its name", (store) => store.importAll({ pets: [{ id: 1n, name: "Max" }] }, 0), false],
    ["a refusal", (store) => change(store, adjust(1n, -11n)).catch(() => {}), false],
    ["another pet's write", (store) => change(store, set(2n, 5n)), false],
  ];

  describe("the version of an entry", () => {
    it.each(writes)("after %s is another: %o", (_, write, isNew) =>
      withPets(open, async ({ store }) => {
        const former = await store.getEntry(1n);
        await write(store);
        expect((await store.getEntry(1n)).version !== former.version).toBe(isNew);
      })(),
    );

    it(
      "is answered by the write that makes it",
      withPets(open, async ({ store }) => {
        expect(await change(store, set(1n, 5n))).toEqual(await store.getEntry(1n));
        expect(await change(store, adjust(1n, 5n))).toEqual(await store.getEntry(1n));
      }),
    );

    it.each([
      ["the present one", (version: string) => [version], "done"],
      ["the present one among others", (version: string) => ["x", version, ""], "done"],
      ["any", () => undefined, "done"],
      ["another one", () => ["x"], "PRECONDITION_FAILED"],
      ["none", () => [], "PRECONDITION_FAILED"],
    ])("lets a command pass that names %s", (_, name, outcome) =>
      withPets(open, async ({ store }) => {
        for (const command of [set(1n, 5n), adjust(1n, 2n)]) {
          const former = await store.getEntry(1n);
          const versions = name(former.version);
          expect(await codesOf([change(store, { ...command, versions })])).toEqual([outcome]);
          expect((await store.getEntry(1n)).version === former.version).toBe(outcome !== "done");
        }
      })(),
    );

    it(
      "lets one of 64 clients pass that have read the same",
      withPets(open, async ({ store }) => {
        const versions = [(await store.getEntry(1n)).version];
        const codes = await codesOf(
          Array.from({ length: 64 }, (_, n) => change(store, set(1n, BigInt(n), { versions }))),
        );
        expect(codes.filter((code) => code === "done")).toHaveLength(1);
        expect(codes.filter((code) => code === "PRECONDITION_FAILED")).toHaveLength(63);
        expect((await store.getEntry(1n)).quantity).toBe(BigInt(codes.indexOf("done")));
      }),
    );
  });
}

function describeCommands(open: OpenStore): void {
  const outcomes: [name: string, command: StockCommand, outcome: bigint | string][] = [
    ["a set", set(1n, -5n), -5n],
    ["a set to the most", set(1n, maxInt64), maxInt64],
    ["a set to the least", set(1n, minInt64), minInt64],
    ["taking some", adjust(1n, -4n), 6n],
    ["taking all", adjust(1n, -10n), 0n],
    ["taking more than there are", adjust(1n, -11n), "INSUFFICIENT_STOCK"],
    ["taking more than there are, where that is allowed", adjust(1n, -11n, { allowNegative: true }), -1n],
    ["taking the most", adjust(1n, minInt64), "INSUFFICIENT_STOCK"],
    ["taking the most, where that is allowed", adjust(1n, minInt64, { allowNegative: true }), minInt64 + 10n],
    ["adding some", adjust(1n, 4n), 14n],
    ["adding up to the most", adjust(1n, maxInt64 - 10n), maxInt64],
    ["adding beyond the most", adjust(1n, maxInt64 - 9n), "QUANTITY_OUT_OF_RANGE"],
    ["an unknown pet", set(9n, 1n), "PET_NOT_FOUND"],
    ["pet 0", adjust(0n, 1n), "PET_NOT_FOUND"],
    ["an unknown pet of some version", set(9n, 1n, { versions: ["x"] }), "PET_NOT_FOUND"],
    ["taking too many of another version", adjust(1n, -11n, { versions: ["x"] }), "PRECONDITION_FAILED"],
    ["adding too many to another version", adjust(1n, maxInt64, { versions: ["x"] }), "PRECONDITION_FAILED"],
  ];

  describe("a command", () => {
    it.each(outcomes)("that is %s is done, or refused: %s %s", (_, command, outcome) =>
      withPets(open, async ({ store, reopen }) => {
        // A backend may know better what to expect behind its first write.
        await change(store, set(3n, 30n));
        const entries = () => Promise.all([1n, 2n, 3n].map((id) => store.getEntry(id)));
        const former = await entries();
        if (typeof outcome === "string") {
          await expect(change(store, command)).rejects.toMatchObject({ code: outcome });
          expect(await entries()).toEqual(former);
        } else {
          expect((await change(store, command)).quantity).toBe(outcome);
          expect((await entries()).slice(1)).toEqual(former.slice(1));
          expect((await (await reopen()).getEntry(1n)).quantity).toBe(outcome);
        }
      })(),
    );

    it(
      "that takes more than nothing from below nothing is refused, and adding is not",
      withPets(open, async ({ store }) => {
        await change(store, set(1n, -5n));
        expect(await codesOf([change(store, adjust(1n, -1n)), change(store, adjust(1n, 1n))])).toEqual([
          "INSUFFICIENT_STOCK",
          "done",
        ]);
        expect((await store.getEntry(1n)).quantity).toBe(-4n);
      }),
    );

    it(
      "says how many are available where it takes too many",
      withPets(open, async ({ store }) => {
        await expect(change(store, adjust(1n, -11n))).rejects.toThrow("The available stock of pet 1 is 10.");
      }),
    );

    it(
      "of 64 that each take one of 40 is refused 24 times",
      withPets(open, async ({ store, openAnother }) => {
        await change(store, set(1n, 40n));
        const stores = [store, await openAnother()];
        const takes = Array.from({ length: 64 }, (_, n) => change(stores[n % 2] as Store, adjust(1n, -1n)));
        const codes = await codesOf(takes);
        expect(codes.filter((code) => code === "done")).toHaveLength(40);
        expect(codes.filter((code) => code === "INSUFFICIENT_STOCK")).toHaveLength(24);
        expect((await store.getEntry(1n)).quantity).toBe(0n);
      }),
    );

    it(
      "sees those before it that were sent at once",
      withPets(open, async ({ store }) => {
        const entries = await Promise.all(
          [adjust(1n, 1n), adjust(1n, 2n), set(1n, 7n), adjust(1n, -7n)].map((command) => change(store, command)),
        );
        expect(entries.map(({ quantity }) => quantity)).toEqual([11n, 13n, 7n, 0n]);
        expect(new Set(entries.map(({ version }) => version)).size).toBe(4);
      }),
    );

    it(
      "that is refused leaves those alone that were sent with it",
      withPets(open, async ({ store }) => {
        const commands = [
          set(9n, 1n),
          adjust(1n, -4n),
          adjust(1n, -7n),
          set(2n, 1n, { versions: ["x"] }),
          adjust(2n, 1n),
        ];
        const codes = await codesOf(commands.map((command) => change(store, command)));
        expect(codes).toEqual(["PET_NOT_FOUND", "done", "INSUFFICIENT_STOCK", "PRECONDITION_FAILED", "done"]);
        expect([(await store.getEntry(1n)).quantity, (await store.getEntry(2n)).quantity]).toEqual([6n, 21n]);
      }),
    );

    it(
      "is told by the history, with all that was said of it",
      withPets(open, async ({ store }) => {
        const { head } = await store.historyBounds(0);
        const texts = { reason: "Inventur — 棚卸し", reference: "order 17" };
        await change(store, set(1n, 5n, texts), { nowMs: 1_700_000_000_001, keyId: "key_a", requestId: "r1" });
        await change(store, adjust(1n, -2n), { nowMs: 1_700_000_000_002, keyId: "key_b", requestId: "r2" });
        await codesOf([change(store, adjust(1n, -4n))]);
        const { changes } = await store.listChanges({ after: head, petIds: [], newestFirst: false, limit: 10 });
        const nothing = { reason: undefined, reference: undefined };
        expect(changes).toEqual([
          {
            revision: head + 1n,
            petId: 1n,
            before: 10n,
            after: 5n,
            kind: "set",
            ...texts,
            keyId: "key_a",
            requestId: "r1",
            occurredAtMs: 1_700_000_000_001,
          },
          {
            revision: head + 2n,
            petId: 1n,
            before: 5n,
            after: 3n,
            kind: "adjust",
            ...nothing,
            keyId: "key_b",
            requestId: "r2",
            occurredAtMs: 1_700_000_000_002,
          },
        ]);
      }),
    );
  });
}

function describeBatches(open: OpenStore): void {
  const batch = async (store: Store, commands: readonly StockCommand[], isAtomic = false) =>
    (await store.changeStockInBatch(commands, isAtomic, createContext())).value;
  const quantities = async (store: Store) =>
    Promise.all([1n, 2n, 3n].map(async (id) => (await store.getEntry(id)).quantity));

  describe("a batch", () => {
    it(
      "is done in its order, and refused changes leave the others alone",
      withPets(open, async ({ store }) => {
        const commands = [
          adjust(1n, -4n),
          set(9n, 1n),
          adjust(1n, -7n),
          set(2n, 5n, { versions: ["x"] }),
          adjust(3n, maxInt64),
          adjust(1n, -6n),
        ];
        const outcomes = await batch(store, commands);
        expect(outcomes).toMatchObject([
          { outcome: "done", entry: { petId: 1n, quantity: 6n } },
          { outcome: "unknown_pet" },
          { outcome: "insufficient", available: 6n },
          { outcome: "version_mismatch" },
          { outcome: "out_of_range" },
          { outcome: "done", entry: { petId: 1n, quantity: 0n } },
        ]);
        expect(await quantities(store)).toEqual([0n, 20n, 30n]);
      }),
    );

    it(
      "refuses the second of two changes of one version",
      withPets(open, async ({ store }) => {
        const versions = [(await store.getEntry(1n)).version];
        const outcomes = await batch(store, [set(1n, 1n, { versions }), set(1n, 2n, { versions })]);
        expect(outcomes.map(({ outcome }) => outcome)).toEqual(["done", "version_mismatch"]);
        expect(await quantities(store)).toEqual([1n, 20n, 30n]);
      }),
    );

    it(
      "is an answer, though all of it is refused",
      withPets(open, async ({ store }) => {
        expect(await batch(store, [set(8n, 1n), set(9n, 1n)])).toEqual([
          { outcome: "unknown_pet" },
          { outcome: "unknown_pet" },
        ]);
      }),
    );

    it.each([
      [set(9n, 1n), "PET_NOT_FOUND", "changes[2]: There is no pet 9."],
      [adjust(1n, -7n), "INSUFFICIENT_STOCK", "changes[2]: The available stock of pet 1 is 6."],
      [set(2n, 1n, { versions: ["x"] }), "PRECONDITION_FAILED", "changes[2]: The stock entry of pet 2 "],
      [adjust(3n, maxInt64), "QUANTITY_OUT_OF_RANGE", "changes[2]: The stock of pet 3 "],
    ])("that is atomic changes nothing once one change is refused: %o", (refused, code, message) =>
      withPets(open, async ({ store }) => {
        const [bounds, entry] = [await store.historyBounds(0), await store.getEntry(1n)];
        const commands = [adjust(1n, -4n), set(2n, 5n), refused, set(3n, 5n)];
        const together = [batch(store, commands, true), change(store, adjust(3n, 1n))];
        const [atomic] = await Promise.allSettled(together);
        expect(atomic).toMatchObject({ reason: { code, message: expect.stringContaining(message) } });
        expect(await quantities(store)).toEqual([10n, 20n, 31n]);
        expect(await store.getEntry(1n)).toEqual(entry);
        expect(await store.historyBounds(0)).toEqual({ ...bounds, head: bounds.head + 1n });
      })(),
    );

    it(
      "that is atomic is done whole",
      withPets(open, async ({ store }) => {
        const outcomes = await batch(store, [adjust(1n, -4n), adjust(1n, -6n), set(2n, 5n)], true);
        expect(outcomes.map((outcome) => "entry" in outcome && outcome.entry.quantity)).toEqual([6n, 0n, 5n]);
        expect(await quantities(store)).toEqual([0n, 5n, 30n]);
      }),
    );

    it(
      "of 1,000 changes tells the version of each, and the history tells all of them",
      withPets(open, async ({ store }) => {
        const { head } = await store.historyBounds(0);
        const outcomes = await batch(
          store,
          Array.from({ length: 1_000 }, () => adjust(1n, 1n, { reason: "delivery" })),
        );
        const entries = outcomes.flatMap((outcome) => ("entry" in outcome ? [outcome.entry as StockEntry] : []));
        expect(entries.map(({ quantity }) => quantity)).toEqual(
          Array.from({ length: 1_000 }, (_, n) => BigInt(n + 11)),
        );
        expect(entries.at(-1)).toEqual(await store.getEntry(1n));
        const { changes } = await store.listChanges({ after: head, petIds: [1n], newestFirst: false, limit: 2_000 });
        expect(changes.map(({ after }) => after)).toEqual(entries.map(({ quantity }) => quantity));
        expect(changes[7]).toMatchObject({
          revision: head + 8n,
          kind: "adjust",
          reason: "delivery",
          requestId: "request",
        });
      }),
    );
  });
}

function describeTold(open: OpenStore): void {
  describe("who listens for changes", () => {
    it(
      "hears of all changes in their order, each before its caller does",
      withPets(open, async ({ store }) => {
        const told: CommittedChanges[] = [];
        store.onChanges((changes) => told.push(changes));
        const { head } = await store.historyBounds(0);
        const heard = async (work: Promise<unknown>) => {
          await work.catch(() => {});
          return told.at(-1)?.revision;
        };
        const ids = [1n, 2n, 9n, 1n, 3n];
        await Promise.all(ids.map((petId) => heard(change(store, adjust(petId, 1n)))));
        expect(
          await heard(
            store.changeStockInBatch([set(3n, 1n), set(9n, 1n), set(3n, 2n), set(1n, 2n)], false, createContext()),
          ),
        ).toBe(head + 7n);
        await store.createHold(
          { holdId: "h", petId: 2n, quantity: 1n, ttlMs: 1_000, reference: undefined },
          createContext(),
        );
        expect(await heard(store.commitHold({ holdId: "h" }, createContext()))).toBe(head + 8n);
        await heard(change(store, adjust(1n, -100n)));
        expect(told.flatMap(({ petIds }) => petIds)).toEqual([1n, 2n, 1n, 3n, 3n, 3n, 1n, 2n]);
        let revision = head;
        for (const { revision: last, petIds } of told) {
          revision += BigInt(petIds.length);
          expect(last).toBe(revision);
        }
      }),
    );

    it(
      "hears nothing of what others have changed, and of their revisions with the next change",
      withPets(open, async ({ store, openAnother }) => {
        const told: CommittedChanges[] = [];
        store.onChanges((changes) => told.push(changes));
        const { lineage, head } = await store.historyBounds(0);
        await change(await openAnother(), set(1n, 1n));
        await change(store, set(2n, 1n));
        expect(told).toEqual([{ lineage, revision: head + 2n, petIds: [2n] }]);
      }),
    );
  });
}
