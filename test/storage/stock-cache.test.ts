import { join } from "node:path";
import { setImmediate } from "node:timers/promises";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import type { Connection } from "../../src/storage/sqlite/connection.ts";
import { openDatabase } from "../../src/storage/sqlite/database.ts";
import { TurnReads } from "../../src/storage/sqlite/lists.ts";
import { checkDatabase } from "../../src/storage/sqlite/maintenance/check.ts";
import { findStock, readStock } from "../../src/storage/sqlite/stock.ts";
import { stockCacheOf } from "../../src/storage/sqlite/stock-cache.ts";
import { openSqliteStore } from "../../src/storage/sqlite/store.ts";
import { FileIdentity } from "../../src/storage/sqlite/store-file.ts";
import { columnsOfCommands } from "../../src/storage/sqlite/writer/batch-columns.ts";
import { GroupWriter } from "../../src/storage/sqlite/writer/group-writer.ts";
import type { Task } from "../../src/storage/sqlite/writer/writes.ts";
import { createFolder } from "../support/folder.ts";
import { Random } from "../support/random.ts";
import { createContext, createKey, createPet, hashOf } from "./samples.ts";
import { adjust, set } from "./stocked-pets.ts";

const petIds = [1n, 2n, 3n, 4n, 5n, 2n ** 53n, 2n ** 53n + 1n, -(2n ** 63n)];

/** A store, with a connection of another program. */
async function openWithOther() {
  const file = await createStore();
  const store = openSqliteStore(file);
  const other = openDatabase(file);
  closeAtEnd(other);
  onTestFinished(() => store.close());
  return { file, store, other };
}

async function createStore(ids = petIds): Promise<string> {
  const file = join(createFolder(), "petstore.db");
  const store = openSqliteStore(file);
  await store.importAll({ pets: ids.map((id) => createPet({ id, quantity: 20n })) }, 0);
  await store.close();
  return file;
}

function closeAtEnd(...connections: Connection[]): void {
  onTestFinished(() => {
    for (const connection of connections) {
      connection.close();
    }
  });
}

/** One process that writes. */
class Writing {
  readonly connection: Connection;
  readonly #groups: GroupWriter;

  constructor(file: string) {
    this.connection = openDatabase(file);
    closeAtEnd(this.connection);
    this.#groups = new GroupWriter(this.connection, new FileIdentity(file), { mostUnapplied: 6 });
  }

  commit(commands: Parameters<GroupWriter["commit"]>[0], tasks: readonly Task[] = []): void {
    this.#groups.commit(commands, tasks);
  }

  applyStep(): void {
    this.#groups.applyStep();
  }

  find(petId: bigint) {
    return this.connection.inSnapshot(() => {
      stockCacheOf(this.connection).expire();
      return findStock(this.connection, petId);
    });
  }
}

describe("the stock that connections remember", () => {
  it.each([1, 2, 3, 4, 5, 6, 17, 18])(
    "is what the file has, whoever has written, and whatever was undone: seed %i",
    async (seed) => {
      const random = new Random(seed);
      const file = await createStore();
      const writers = [new Writing(file), new Writing(file)];
      const [reader, trusting, other] = [openDatabase(file), openDatabase(file), openDatabase(file)];
      closeAtEnd(reader, trusting, other);
      const reads = new TurnReads(reader);
      const trustingReads = new TurnReads(trusting);
      stockCacheOf(trusting).trustCounters(Infinity);
      let made = 0;
      let nowMs = 1_000;
      const context = () => createContext({ nowMs });
      const command = () => {
        const petId = random.pick(petIds);
        const isSet = random.pick([true, false]);
        const change = isSet ? set(petId, BigInt(random.pick([0, 5, 30]))) : adjust(petId, random.pick([-7n, -1n, 2n]));
        return { command: change, context: context() };
      };
      const commands = () => Array.from({ length: random.pick([1, 2, 5]) }, command);
      const createHold = (): Task => {
        const [petId, ttlMs] = [random.pick(petIds), random.pick([1, 50])];
        const request = {
          holdId: `hold_${made++}`,
          petId,
          quantity: random.pick([1n, 4n]),
          ttlMs,
          reference: undefined,
        };
        return { name: "createHold", args: [request, context()] };
      };
      const endHold = (name: "commitHold" | "releaseHold"): Task => {
        return {
          name,
          args: [{ holdId: `hold_${random.pick([1, 2, 3, 4, 5].map((back) => made - back))}` }, context()],
        };
      };
      const batch = (isAtomic: boolean): Task => {
        return {
          name: "changeStockInBatch",
          args: [columnsOfCommands(commands().map((each) => each.command)), isAtomic, context()],
        };
      };
      const steps: (() => unknown)[] = [
        () => random.pick(writers).commit(commands()),
        () => random.pick(writers).commit(commands(), [createHold(), createHold()]),
        () => random.pick(writers).commit([], [endHold("commitHold"), endHold("releaseHold")]),
        () => random.pick(writers).commit(commands(), [batch(true), batch(false)]),
        () => random.pick(writers).commit([], [{ name: "deleteOutdated", args: ["holds", { keptSinceMs: 0, nowMs }] }]),
        () => random.pick(writers).applyStep(),
        () =>
          failing(random.pick(writers), onHold, "ABORT", (it) => it.commit(commands(), [createHold(), batch(true)])),
        () => failing(random.pick(writers), onHold, "ROLLBACK", (it) => it.commit(commands(), [createHold()])),
        () => failing(random.pick(writers), onApplied, "ROLLBACK", (it) => it.commit(commands())),
        () => failing(random.pick(writers), onCounted, "ROLLBACK", (it) => it.applyStep()),
        () => import_(file, random.pick(petIds), random.pick(["sold", "pending", "available"])),
        () => {
          other.run(
            "UPDATE stock SET status = ? WHERE pet_id = ?",
            random.pick(["sold", "pending"]),
            random.pick(petIds),
          );
          // As the store does once the change tokens tell of it.
          stockCacheOf(trusting).forgetRows();
        },
        () => other.run("UPDATE change_counters SET usage = usage + 1"),
      ];
      for (let step = 0; step < 400; step++) {
        await random.pick(steps)();
        nowMs += random.pick([0, 1, 20]);
        const stored = storedStock(other);
        if (step % 40 === 39) {
          expect(await checkDatabase(file, "quick")).toEqual([]);
        }
        const seen = random.pick([[], [reader], [trusting], writers.map(({ connection }) => connection)]);
        for (const petId of petIds) {
          const expected = stored.get(petId);
          if (seen.includes(reader)) {
            expect(reads.read((connection) => valuesOf(findStock(connection, petId)))).toEqual(expected);
          }
          if (seen.includes(trusting)) {
            const { held: _, ...trusted } = trustingReads.read((connection) => valuesOf(findStock(connection, petId)));
            expect(expected).toMatchObject(trusted);
            expect(trustingReads.read((connection) => valuesOf(readStock(connection, petId)))).toEqual(expected);
          }
          for (const writing of writers.filter(({ connection }) => seen.includes(connection))) {
            expect(valuesOf(writing.find(petId))).toEqual(expected);
          }
        }
        reads.end();
        trustingReads.end();
      }
    },
  );

  it("is read from the file once, and again when others may have changed its row", async () => {
    const file = await createStore();
    const reader = openDatabase(file);
    stockCacheOf(reader).trustCounters(Infinity);
    const [writing, other] = [new Writing(file), openDatabase(file)];
    closeAtEnd(reader, other);
    const reads = new TurnReads(reader);
    const get = vi.spyOn(reader, "get");
    const rowsRead = () => {
      get.mockClear();
      reads.read((connection) => findStock(connection, 1n));
      reads.end();
      return get.mock.calls.filter(([sql]) => sql.includes("FROM stock ")).length;
    };
    expect([rowsRead(), rowsRead(), rowsRead()]).toEqual([1, 0, 0]);
    writing.commit([{ command: set(1n, 3n), context: createContext() }]);
    expect(rowsRead()).toBe(0);
    expect(reads.read((connection) => findStock(connection, 1n)?.quantity)).toBe(3n);
    reads.end();
    other.run("UPDATE change_counters SET usage = usage + 1");
    expect(rowsRead()).toBe(0);
    other.run("UPDATE change_counters SET stock = stock + 1");
    expect(rowsRead()).toBe(1);
  });

  it("has what another program has written at once, and also where it hides among counted writes", async () => {
    const { store, other, file } = await openWithOther();
    await store.changeTokens();
    expect(await store.getEntry(1n)).toMatchObject({ status: "available" });
    other.run("UPDATE stock SET status = 'sold' WHERE pet_id = 1");
    // Reads of one turn see one moment.
    await setImmediate();
    expect(await store.getEntry(1n)).toMatchObject({ status: "sold" });
    await store.changeTokens();
    await store.getEntry(1n);
    other.run("UPDATE stock SET status = 'pending' WHERE pet_id = 1");
    await store.createKey(createKey({ id: "key_1" }), hashOf("one"));
    await store.changeTokens();
    expect(await store.getEntry(1n)).toMatchObject({ status: "pending" });
    const another = openSqliteStore(file);
    onTestFinished(() => another.close());
    other.run("UPDATE stock SET status = 'available' WHERE pet_id = 1");
    await another.createKey(createKey({ id: "key_2" }), hashOf("two"));
    await store.changeTokens();
    expect(await store.getEntry(1n)).toMatchObject({ status: "available" });
  });

  it("is read again where nobody has asked for the tokens for some time", async () => {
    const { store, other } = await openWithOther();
    await store.changeTokens();
    await store.getEntry(1n);
    other.run("UPDATE stock SET status = 'sold' WHERE pet_id = 1");
    await store.createKey(createKey({ id: "key_1" }), hashOf("one"));
    await vi.waitFor(async () => expect(await store.getEntry(1n)).toMatchObject({ status: "sold" }));
  });

  it("tells at once what is held, and available", async () => {
    const { store } = await openWithOther();
    await store.changeTokens();
    await store.getAvailability(1n, 0);
    const request = { holdId: "hold_a", petId: 1n, quantity: 8n, ttlMs: 1_000, reference: undefined };
    await store.createHold(request, createContext({ nowMs: 0 }));
    await setImmediate();
    expect(await store.getAvailability(1n, 0)).toMatchObject({ held: 8n, available: 12n });
    await store.changeStock(adjust(1n, -1n), createContext({ nowMs: 2_000 }));
    await setImmediate();
    expect(await store.getAvailability(1n, 0)).toMatchObject({ held: 0n, available: 19n });
  });

  it("keeps what a refused batch has noted of holds", async () => {
    const writing = new Writing(await createStore());
    const request = { holdId: "hold_a", petId: 1n, quantity: 8n, ttlMs: 1_000, reference: undefined };
    writing.commit([], [{ name: "createHold", args: [request, createContext({ nowMs: 0 })] }]);
    expect(writing.find(1n)).toMatchObject({ held: 8n, quantity: 20n });
    const commands = [set(1n, 19n), adjust(1n, -1n), adjust(99n, -1n)];
    writing.commit(
      [],
      [{ name: "changeStockInBatch", args: [columnsOfCommands(commands), true, createContext({ nowMs: 2_000 })] }],
    );
    expect(writing.find(1n)).toMatchObject({ held: 0n, quantity: 20n });
  });

  it("is not what a damaged change says", async () => {
    const { store, other } = await openWithOther();
    await store.getEntry(1n);
    other.redefine("changes", ") STRICT", ")");
    other.run(
      `INSERT INTO changes (pet_id, previous, before, after, number, kind, occurred_at_ms)
       VALUES (1, 1, 20, x'deadbeef', 2, 'set', 0)`,
    );
    await setImmediate();
    await expect(store.getEntry(1n)).rejects.toMatchObject({ code: "UNAVAILABLE" });
  });

  it("follows a store that another program has put back to an earlier state", async () => {
    const file = await createStore();
    const writing = new Writing(file);
    const other = openDatabase(file);
    closeAtEnd(other);
    writing.commit([1, 2, 3].map((quantity) => ({ command: set(1n, BigInt(quantity)), context: createContext() })));
    other.run("DELETE FROM changes WHERE revision > (SELECT max(revision) - 2 FROM changes)");
    expect(writing.find(1n)).toMatchObject({ quantity: 1n });
    writing.commit([{ command: adjust(1n, 4n), context: createContext() }]);
    expect(writing.find(1n)).toMatchObject({ quantity: 5n });
    expect(await checkDatabase(file, "full")).toEqual([]);
  });

  it("is in the file when the writer ends, however much it has changed", async () => {
    const ids = Array.from({ length: 40_000 }, (_, index) => BigInt(index));
    const file = await createStore(ids);
    const store = openSqliteStore(file);
    for (let first = 0; first < ids.length; first += 1_000) {
      const commands = ids.slice(first, first + 1_000).map((id) => set(id, 1n));
      await store.changeStockInBatch(commands, false, createContext());
    }
    await store.close();
    const other = openDatabase(file);
    closeAtEnd(other);
    expect(other.get("SELECT count(*) AS count FROM stock WHERE quantity <> 1")).toEqual({ count: 0n });
  });

  it("is not asked for again where a pet does not exist", async () => {
    const file = await createStore();
    const writing = new Writing(file);
    const get = vi.spyOn(writing.connection, "get");
    const commands = Array.from({ length: 20 }, () => ({ command: adjust(99n, -1n), context: createContext() }));
    writing.commit(commands);
    expect(get.mock.calls.filter(([sql]) => sql.includes("FROM stock "))).toEqual([]);
  });
});

/** What SQL alone finds. */
function storedStock(connection: Connection): Map<bigint, unknown> {
  const rows = connection.all<{ readonly pet_id: bigint }>(`SELECT * FROM current_stock`);
  return new Map(rows.map(({ pet_id, ...values }) => [pet_id, values]));
}

function valuesOf(stock: ReturnType<typeof findStock>) {
  const { quantity, revision, changes, held, status } = stock ?? {};
  return { quantity, revision, changes, held, status };
}

const onHold = "INSERT ON holds";
const onApplied = "UPDATE ON history";
const onCounted = "UPDATE ON change_counters";

/** Lets statements fail meanwhile, which undoes the part or, with ROLLBACK, the whole transaction. */
function failing(writing: Writing, at: string, how: "ABORT" | "ROLLBACK", work: (writing: Writing) => void): void {
  const { connection } = writing;
  connection.execute(`CREATE TEMP TRIGGER failing AFTER ${at} BEGIN SELECT raise(${how}, 'no'); END`);
  try {
    work(writing);
  } catch (error) {
    expect(String(error)).toMatch(/no/);
  } finally {
    connection.execute(`DROP TRIGGER failing`);
  }
}

async function import_(file: string, id: bigint, status: "sold" | "pending" | "available"): Promise<void> {
  const store = openSqliteStore(file, { writesDirectly: true });
  await store.importAll({ pets: [{ id, status }] }, 0);
  await store.close();
}
