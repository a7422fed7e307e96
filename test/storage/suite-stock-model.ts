import fc from "fast-check";
import { expect, it } from "vitest";
import { DomainError } from "../../src/domain/errors.ts";
import { holdStates } from "../../src/domain/hold.ts";
import { maxInt64, minInt64 } from "../../src/domain/ranges.ts";
import type { StockCommand } from "../../src/domain/stock.ts";
import type { Store, WriteContext } from "../../src/domain/store.ts";
import { MemoryData, MemoryStore } from "./memory-store.ts";
import { type OpenStore, withStore } from "./opened-store.ts";
import { createIdempotency, createPet, everything } from "./samples.ts";

/** Few, so that the operations meet. */
const petIds = fc.bigInt(1n, 4n);
const amounts = fc.oneof(
  { weight: 30, arbitrary: fc.bigInt(-3n, 9n) },
  { weight: 1, arbitrary: fc.constantFrom(minInt64, maxInt64) },
);
const texts = fc.option(fc.string({ unit: "grapheme", maxLength: 5 }), { nil: undefined });
const notes = { reason: texts, reference: texts };
/** How many holds ago one was created. */
const holdsAgo = fc.integer({ min: 0, max: 3 });

/** Which versions a command names: those that were read last, some of long ago, or none. */
const versions = fc.constantFrom("any", "any", "any", "last", "other");

interface Command {
  readonly command: StockCommand;
  readonly versions: string;
}

const sets = fc.record({ kind: fc.constant("set" as const), petId: petIds, quantity: amounts, ...notes });
const adjusts = fc.record({
  kind: fc.constant("adjust" as const),
  petId: petIds,
  delta: amounts.filter((delta) => delta !== 0n),
  allowNegative: fc.boolean(),
  ...notes,
});
const commands: fc.Arbitrary<Command> = fc.record({ command: fc.oneof(sets, adjusts), versions });

/** What an operation needs besides the store: who makes it and when, and the versions that the store has told. */
interface Scene {
  readonly context: WriteContext;
  readonly versions: Map<bigint, string>;
}

/** One thing to do to a store and to the model alike. What it resolves to, or rejects with, is compared. */
type Operation = (store: Store, scene: Scene) => Promise<unknown>;

function named(name: string, operation: Operation): Operation & { toString(): string } {
  return Object.assign(operation, { toString: () => name });
}

function withVersions({ command, versions }: Command, scene: Scene): StockCommand {
  const named = { any: undefined, last: [scene.versions.get(command.petId) ?? "x"], other: ["x", "y"] }[versions];
  return { ...command, versions: named };
}

async function changeStock(store: Store, command: Command, scene: Scene): Promise<unknown> {
  const written = await store.changeStock(withVersions(command, scene), scene.context);
  scene.versions.set(written.value.petId, written.value.version);
  return written;
}

/** The id of a hold that was created so many holds ago; with -1 that of the next one. */
async function holdIdOf(store: Store, ago: number): Promise<string> {
  const [last] = await store.listHolds({ petId: undefined, states: [], before: undefined, limit: 1 }, 0);
  return `hold_${Number(last?.position ?? 0n) - ago}`;
}

const operations: fc.Arbitrary<Operation> = fc.oneof(
  commands.map((command) =>
    named(`change ${fc.stringify(command)}`, (store, scene) => changeStock(store, command, scene)),
  ),
  fc.array(commands, { minLength: 2, maxLength: 6 }).map((all) =>
    named(`change at once ${fc.stringify(all)}`, async (store, scene) => {
      const { idempotency: _, ...context } = scene.context;
      const changes = all.map((command) => outcomeOf(changeStock(store, command, { ...scene, context })));
      return Promise.all(changes);
    }),
  ),
  fc.tuple(fc.array(commands, { minLength: 1, maxLength: 6 }), fc.boolean()).map(([all, atomic]) =>
    named(`${atomic ? "atomic batch" : "batch"} ${fc.stringify(all)}`, (store, scene) =>
      store.changeStockInBatch(
        all.map((command) => withVersions(command, scene)),
        atomic,
        scene.context,
      ),
    ),
  ),
  fc
    .record({ petId: petIds, quantity: fc.bigInt(1n, 4n), ttlMs: fc.integer({ min: 1, max: 5_000 }), reference: texts })
    .map((request) =>
      named(`hold ${fc.stringify(request)}`, async (store, scene) => {
        const holdId = await holdIdOf(store, -1);
        return store.createHold({ ...request, holdId }, scene.context);
      }),
    ),
  fc
    .record({ ago: holdsAgo, note: fc.record(notes) })
    .map(({ ago, note }) =>
      named(`commit the hold ${ago} ago ${fc.stringify(note)}`, async (store, { context }) =>
        store.commitHold({ holdId: await holdIdOf(store, ago), ...note }, context),
      ),
    ),
  holdsAgo.map((ago) =>
    named(`release the hold ${ago} ago`, async (store, { context }) =>
      store.releaseHold({ holdId: await holdIdOf(store, ago) }, context),
    ),
  ),
  fc
    .record({ id: petIds, quantity: amounts }, { requiredKeys: ["id"] })
    .map((pet) =>
      named(`import ${fc.stringify(pet)}`, (store, { context }) =>
        store.importAll({ pets: [createPet({ quantity: 5n, ...pet })] }, context.nowMs),
      ),
    ),
  petIds.map((petId) =>
    named(`read ${petId}`, async (store, { context, versions }) => {
      const entry = await store.getEntry(petId);
      versions.set(petId, entry.version);
      return [entry, await store.getAvailability(petId, context.nowMs)];
    }),
  ),
  fc
    .record({ petId: fc.option(petIds, { nil: undefined }), states: fc.subarray([...holdStates]) })
    .map((query) =>
      named(`list holds ${fc.stringify(query)}`, (store, { context }) =>
        store.listHolds({ ...query, before: undefined, limit: 3 }, context.nowMs),
      ),
    ),
);

/** An operation, how much later than the last one it is, and its idempotency key. */
const steps = fc.record({
  operation: operations,
  laterMs: fc.constantFrom(0, 0, 1, 1_000),
  keyId: fc.constantFrom("key_a", "key_b"),
  idempotency: fc.option(
    fc
      .tuple(fc.constantFrom("1", "2", "3"), fc.constantFrom("a", "a", "b"))
      .map(([key, content]) => createIdempotency(key, content)),
    { nil: undefined },
  ),
});

/** What a call resolves to, or rejects with: without what no two stores have in common. */
async function outcomeOf(call: Promise<unknown>): Promise<unknown> {
  try {
    return withoutLineage(await call);
  } catch (error) {
    expect(error).toBeInstanceOf(DomainError);
    const { code, message } = error as DomainError;
    return { code, message };
  }
}

function withoutLineage(value: unknown): unknown {
  return JSON.parse(
    JSON.stringify(value, (_, part) => (typeof part === "bigint" ? `${part}n` : part)).replaceAll(
      /"[0-9a-f]{12}(-|")/g,
      '"$1',
    ),
  );
}

async function contentOf(store: Store, nowMs: number): Promise<unknown> {
  return withoutLineage([
    await store.listInventory(everything),
    await store.historyBounds(0),
    await store.listChanges({ after: 0n, petIds: [], newestFirst: false, limit: 1_000 }),
    await store.listHolds({ petId: undefined, states: [], before: undefined, limit: 1_000 }, nowMs),
  ]);
}

export function describeStockModel(open: OpenStore): void {
  it("does what the model does, whatever commands it is given in whatever order", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(steps, { maxLength: 80, size: "max" }), (history) =>
        withStore(open, async ({ store, reopen }) => {
          const model = new MemoryStore(new MemoryData());
          const seen = [new Map<bigint, string>(), new Map<bigint, string>()] as const;
          let nowMs = 1_700_000_000_000;
          for (const each of [store, model]) {
            await each.importAll({ pets: [1n, 2n, 3n].map((id) => createPet({ id, quantity: 10n })) }, nowMs);
          }
          for (const [number, { operation, laterMs, keyId, idempotency }] of history.entries()) {
            nowMs += laterMs;
            const context = { nowMs, keyId, requestId: `request ${number}`, idempotency };
            const outcome = await outcomeOf(operation(store, { context, versions: seen[0] }));
            expect(outcome).toEqual(await outcomeOf(operation(model, { context, versions: seen[1] })));
          }
          expect(await contentOf(store, nowMs)).toEqual(await contentOf(model, nowMs));
          expect(await contentOf(await reopen(), nowMs)).toEqual(await contentOf(model, nowMs));
        })(),
      ),
      { numRuns: 8, interruptAfterTimeLimit: 20_000 },
    );
  });
}
