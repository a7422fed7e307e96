import fc from "fast-check";
import { expect, it } from "vitest";
import { petStatuses, type RecordChange, type StockedPet } from "../../src/domain/catalog.ts";
import { maxInt64, minInt64 } from "../../src/domain/ranges.ts";
import { type OpenedStore, type OpenStore, withStore } from "./opened-store.ts";
import { createPet, setStock } from "./samples.ts";

type Model = Map<bigint, StockedPet>;

const int64 = fc.bigInt(minInt64, maxInt64);
/** Few, so that the operations meet; the ends of the range among them. */
const ids = fc.oneof(fc.bigInt(-3n, 8n), fc.constantFrom(minInt64, maxInt64));
const statuses = fc.constantFrom(...petStatuses);
const texts = fc.string({ unit: "grapheme", maxLength: 5 });

const pets: fc.Arbitrary<StockedPet> = fc.record({
  id: ids,
  name: texts,
  category: texts,
  photoUrls: fc.array(texts, { maxLength: 2 }),
  tags: fc.array(texts, { maxLength: 2 }),
  status: statuses,
  quantity: int64,
});

/** Some fields of a pet, but not all of them. */
const changes: fc.Arbitrary<RecordChange<StockedPet>> = fc.record(
  { id: ids, name: texts, photoUrls: fc.array(texts, { maxLength: 2 }), status: statuses, quantity: int64 },
  { requiredKeys: ["id"] },
);

/** One thing to do to a store and to a plain map alike, and to compare. */
interface Operation {
  run(model: Model, opened: OpenedStore): Promise<void>;
  toString(): string;
}

const operations: fc.Arbitrary<Operation> = fc.oneof(
  fc.tuple(ids, int64).map(([id, quantity]) => ({
    toString: () => `update ${id} to ${quantity}`,
    async run(model: Model, { store }: OpenedStore) {
      const pet = model.get(id);
      if (pet === undefined) {
        await expect(setStock(store, id, quantity)).rejects.toMatchObject({ code: "PET_NOT_FOUND" });
        return;
      }
      model.set(id, { ...pet, quantity });
      expect(await setStock(store, id, quantity)).toEqual({ petId: id, quantity, status: pet.status });
    },
  })),
  fc.array(pets, { maxLength: 4 }).map((imported) => ({
    toString: () => `import ${imported.map((pet) => pet.id).join()}`,
    async run(model: Model, { store }: OpenedStore) {
      const created = new Set(imported.map(({ id }) => id).filter((id) => !model.has(id))).size;
      imported.forEach((pet) => {
        model.set(pet.id, pet);
      });
      const replaced = new Set(imported.map(({ id }) => id)).size - created;
      expect((await store.importAll({ pets: imported }, 0)).pets).toEqual({ created, replaced, changed: 0 });
    },
  })),
  fc.array(changes, { maxLength: 4 }).map((imported) => ({
    toString: () => `change ${imported.map((pet) => pet.id).join()}`,
    async run(model: Model, { store }: OpenedStore) {
      const unknown = imported.find(({ id }) => !model.has(id));
      if (unknown !== undefined) {
        await expect(store.importAll({ pets: imported }, 0)).rejects.toMatchObject({ kind: "pets", id: unknown.id });
        return;
      }
      imported.forEach((change) => {
        model.set(change.id, { ...(model.get(change.id) as StockedPet), ...change });
      });
      const changed = new Set(imported.map(({ id }) => id)).size;
      expect((await store.importAll({ pets: imported }, 0)).pets).toEqual({ created: 0, replaced: 0, changed });
    },
  })),
  fc.array(pets, { maxLength: 4 }).map((imported) => ({
    toString: () => `fail to import ${imported.map((pet) => pet.id).join()}`,
    async run(_: Model, { store }: OpenedStore) {
      function* failing() {
        yield* imported;
        throw new Error("bad row");
      }
      await expect(store.importAll({ pets: failing() }, 0)).rejects.toThrow("bad row");
    },
  })),
  ids.map((id) => ({
    toString: () => `get ${id}`,
    async run(model: Model, { store }: OpenedStore) {
      const expected = model.get(id);
      if (expected === undefined) {
        await expect(store.getPet(id)).rejects.toMatchObject({ code: "PET_NOT_FOUND" });
        return;
      }
      expect(createPet({ ...(await store.getPet(id)), quantity: expected.quantity })).toEqual(expected);
    },
  })),
  fc
    .record({
      statuses: fc.array(statuses, { maxLength: 3 }),
      after: fc.option(ids, { nil: undefined }),
      limit: limits(),
    })
    .map((query) => ({
      toString: () => `list ${query.statuses.join()} after ${query.after}, ${query.limit} at most`,
      async run(model: Model, { store }: OpenedStore) {
        const expected = sorted(model)
          .filter((pet) => query.statuses.length === 0 || query.statuses.includes(pet.status))
          .filter((pet) => query.after === undefined || pet.id > query.after)
          .slice(0, query.limit)
          .map(({ id, quantity, status }) => ({ petId: id, quantity, status }));
        expect(await store.listInventory(query)).toEqual(expected);
      },
    })),
);

function limits() {
  return fc.option(fc.integer({ min: 0, max: 5 }), { nil: undefined });
}

function sorted(model: Model): StockedPet[] {
  return [...model.values()].sort((a, b) => (a.id < b.id ? -1 : 1));
}

export function describeModel(open: OpenStore): void {
  it("does what a plain map does, whatever is asked in whatever order", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(operations, { maxLength: 40 }), (history) =>
        withStore(open, async (opened) => {
          const model: Model = new Map();
          for (const operation of history) {
            await operation.run(model, opened);
          }
          expect(await Array.fromAsync(opened.store.exportPets())).toEqual(sorted(model));
          const reopened = await opened.reopen();
          expect(await Array.fromAsync(reopened.exportPets())).toEqual(sorted(model));
          expect(await reopened.countPets()).toBe(model.size);
        })(),
      ),
      { numRuns: 25 },
    );
  });
}
