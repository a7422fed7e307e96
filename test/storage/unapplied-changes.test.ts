import { copyFileSync, renameSync } from "node:fs";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { idempotencyMs } from "../../src/domain/idempotency.ts";
import { Connection } from "../../src/storage/sqlite/connection.ts";
import { openDatabase } from "../../src/storage/sqlite/database.ts";
import { listInventory, TurnReads } from "../../src/storage/sqlite/lists.ts";
import { checkDatabase } from "../../src/storage/sqlite/maintenance/check.ts";
import { findStock } from "../../src/storage/sqlite/stock.ts";
import { openSqliteStore } from "../../src/storage/sqlite/store.ts";
import { FileIdentity } from "../../src/storage/sqlite/store-file.ts";
import { GroupWriter } from "../../src/storage/sqlite/writer/group-writer.ts";
import type { Task } from "../../src/storage/sqlite/writer/writes.ts";
import { createFolder } from "../support/folder.ts";
import { createContext, createIdempotency, createKey, createPet, everything, hashOf } from "./samples.ts";
import { adjust, set } from "./stocked-pets.ts";

const petCount = 300n;

/** From so many unapplied changes on, groups apply some: fewer than what a server waits for. */
const mostUnapplied = 16_384;

/** A store in whose file each group of changes is committed in this thread. */
class Store {
  readonly file = join(createFolder(), "petstore.db");
  readonly connection: Connection;
  readonly reads: TurnReads;
  readonly quantities = new Map<bigint, bigint>();
  #writing!: Connection;
  #writer: GroupWriter;

  private constructor(file: string) {
    this.file = file;
    this.connection = openDatabase(file);
    const reader = openDatabase(file);
    onTestFinished(() => {
      this.connection.close();
      reader.close();
    });
    this.reads = new TurnReads(reader);
    this.#writer = this.#startWriter();
  }

  static async create(pets = Number(petCount)): Promise<Store> {
    const file = join(createFolder(), "petstore.db");
    const imported = Array.from({ length: pets }, (_, index) => createPet({ id: BigInt(index), quantity: 0n }));
    const store = openSqliteStore(file);
    await store.importAll({ pets: imported }, 0);
    await store.close();
    return new Store(file);
  }

  /** As after a crash: what the writer knew is gone. */
  restartWriter(): void {
    this.#writer = this.#startWriter();
  }

  #startWriter(): GroupWriter {
    const connection = openDatabase(this.file);
    onTestFinished(() => connection.close());
    this.#writing = connection;
    return new GroupWriter(connection, new FileIdentity(this.file), { mostUnapplied });
  }

  /** Commits a group that sets quantities no pet has had; with tasks that change nothing. */
  commit(petIds: readonly bigint[], first: bigint, tasks: readonly Task[] = []): void {
    const commands = petIds.map((petId, index) => {
      this.quantities.set(petId, first + BigInt(index));
      return { command: set(petId, first + BigInt(index)), context: createContext() };
    });
    this.#writer.commit(commands, tasks);
  }

  /** Runs SQL on the writer's connection. */
  execute(sql: string): void {
    this.#writing.execute(sql);
  }

  /** How many changes the stock may lack. */
  lag(): number {
    return this.count("changes, history WHERE revision > applied_revision");
  }

  applyStep(pets?: number): boolean {
    return this.#writer.applyStep(pets);
  }

  async expectCurrent(petIds: readonly bigint[]): Promise<void> {
    const found = petIds.map((petId) => this.reads.read((connection) => findStock(connection, petId)?.quantity));
    expect(found).toEqual(petIds.map((petId) => this.quantities.get(petId) ?? 0n));
    const listed = await listInventory(this.reads, everything);
    expect(listed.map(({ quantity }) => quantity)).toEqual(listed.map(({ petId }) => this.quantities.get(petId) ?? 0n));
    this.reads.end();
  }

  count(sql: string): number {
    return Number(this.connection.get<{ count: bigint }>(`SELECT count(*) AS count FROM ${sql}`)?.count);
  }
}

/** Pets that look random, and are the same each time. */
function petsOf(group: number): bigint[] {
  return Array.from({ length: 1 + (group % 40) }, (_, index) =>
    BigInt((group * 7_919 + index * index * 104_729) % 300),
  );
}

function repeat(petIds: readonly bigint[], times: number): bigint[] {
  return Array.from({ length: times }, () => petIds).flat();
}

/** 200 changes. */
const manyChanges = repeat(petsOf(39), 5);

/** So many groups of them that the stock would lack more than it may, if none were applied. */
const manyGroups = 260;

describe("changes that the stock lacks", () => {
  it("are seen by all readers, through groups, passages over the stock, idle times and crashes", async () => {
    const store = await Store.create();
    for (let group = 0; group < 500; group += 1) {
      store.commit(petsOf(group), BigInt(group * 100_000));
      if (group % 120 === 20) {
        // Nearly enough for a passage: one of the next groups begins it, and some more go on with it.
        store.commit(repeat(petsOf(39), 400), BigInt(group * 100_000 + 50_000));
      }
      if (group % 7 === 0) {
        await store.expectCurrent(petsOf(group + 1));
      }
      if (group % 90 === 80) {
        store.restartWriter();
      }
      if (group % 120 === 100) {
        expect(store.lag()).toBeLessThan(16_000);
        store.applyStep();
      }
    }
    expect(store.count("history WHERE applied_revision > 300")).toBe(1);
    expect(store.count("stock NATURAL JOIN (SELECT pet_id, revision FROM current_stock)")).toBeLessThan(300);
    expect(await checkDatabase(store.file, "full")).toEqual([]);
    while (store.applyStep()) {}
    await store.expectCurrent([...store.quantities.keys()]);
    expect(store.count("unapplied_stock")).toBe(0);
    expect(store.count("stock NATURAL JOIN (SELECT pet_id, quantity, revision, changes FROM current_stock)")).toBe(300);
    expect(await checkDatabase(store.file, "full")).toEqual([]);
  });

  it("are not written to the stock by each group, and are as soon as there are many", async () => {
    const store = await Store.create();
    store.commit([1n, 2n, 3n], 1n);
    expect(store.lag()).toBe(3);
    for (let group = 0; group < manyGroups; group += 1) {
      store.commit(manyChanges, BigInt(1 + group) * 1_000n);
      expect(store.lag()).toBeLessThan(3 * mostUnapplied);
    }
  });

  it("are applied although a part of each group fails", async () => {
    const store = await Store.create();
    store.execute(`CREATE TEMP TRIGGER failing BEFORE INSERT ON holds BEGIN SELECT raise(ABORT, 'no'); END`);
    const hold = { holdId: "hold_a", petId: 1n, quantity: 1n, ttlMs: 1_000, reference: undefined };
    for (let group = 0; group < manyGroups; group += 1) {
      store.commit(manyChanges, BigInt(1 + group) * 1_000n, [{ name: "createHold", args: [hold, createContext()] }]);
    }
    expect(store.lag()).toBeLessThan(3 * mostUnapplied);
    await store.expectCurrent(petsOf(39));
    expect(await checkDatabase(store.file, "full")).toEqual([]);
  });

  it("are written though the stock of some pets cannot be, and applied once it can", async () => {
    const store = await Store.create();
    store.execute(`CREATE TEMP TRIGGER failing BEFORE UPDATE ON stock WHEN new.pet_id < 9
                   BEGIN SELECT raise(ABORT, 'no'); END`);
    for (let group = 0; group < manyGroups; group += 1) {
      store.commit(manyChanges, BigInt(1 + group) * 1_000n);
    }
    const lag = store.lag();
    expect(lag).toBe(manyGroups * manyChanges.length);
    while (store.applyStep()) {}
    expect(store.lag()).toBe(lag);
    await store.expectCurrent(petsOf(39));
    store.execute("DROP TRIGGER failing");
    store.commit([1n], 7n);
    while (store.applyStep()) {}
    expect(store.lag()).toBe(0);
    await store.expectCurrent(petsOf(39));
    expect(await checkDatabase(store.file, "full")).toEqual([]);
  });

  it("are applied by another process without a change for whoever watches the store", async () => {
    const store = await Store.create();
    const opened = openSqliteStore(store.file);
    onTestFinished(() => opened.close());
    const before = await opened.changeTokens();
    store.commit([1n, 2n], 5n);
    const between = await opened.changeTokens();
    expect(between).toEqual({ ...before, stock: before.stock + 2 });
    while (store.applyStep()) {}
    expect(await opened.changeTokens()).toEqual(between);
  });

  it("are applied a second after the last write, while others ask for news all the time", async () => {
    const store = await Store.create();
    const opened = openSqliteStore(store.file);
    onTestFinished(() => opened.close());
    await opened.changeStock(set(7n, 9n), createContext());
    expect(store.count("stock WHERE pet_id = 7 AND quantity = 9")).toBe(0);
    await vi.waitFor(
      async () => {
        await opened.changeTokens();
        expect(store.count("stock WHERE pet_id = 7 AND quantity = 9")).toBe(1);
      },
      { timeout: 10_000, interval: 100 },
    );
  });

  it("are applied a second after the last write of stock, while usage is saved all the time", async () => {
    const store = await Store.create();
    const opened = openSqliteStore(store.file);
    onTestFinished(() => opened.close());
    await opened.changeStock(set(7n, 9n), createContext());
    let number = 0;
    await vi.waitFor(
      async () => {
        number += 1;
        await opened.saveUsage({ server: "a", number, usages: [] });
        expect(store.count("stock WHERE pet_id = 7 AND quantity = 9")).toBe(1);
      },
      { timeout: 10_000, interval: 250 },
    );
  });

  it("are applied later where another program locks the store when nobody writes", async () => {
    const store = await Store.create();
    const opened = openSqliteStore(store.file, { busyTimeoutMs: 10 });
    onTestFinished(() => opened.close());
    await opened.changeStock(set(7n, 9n), createContext());
    store.execute("BEGIN IMMEDIATE");
    await setTimeout(1_500);
    store.execute("ROLLBACK");
    await expect
      .poll(() => store.count("stock WHERE pet_id = 7 AND quantity = 9"), { timeout: 10_000, interval: 100 })
      .toBe(1);
  });

  it("are left alone where the store's file is another one by now", async () => {
    const store = await Store.create();
    store.commit([1n], 5n);
    renameSync(store.file, `${store.file}.former`);
    copyFileSync(`${store.file}.former`, store.file);
    expect(() => store.applyStep()).toThrow("not the file that was opened");
  });

  it("are all applied where another program puts the store back while some are", async () => {
    const store = await Store.create();
    store.commit([1n, 2n, 3n, 4n], 5n);
    store.applyStep(1);
    store.connection.run("DELETE FROM changes WHERE pet_id IN (3, 4) AND kind = 'set'");
    store.quantities.delete(3n);
    store.quantities.delete(4n);
    store.commit([5n, 6n], 5n);
    while (store.applyStep(1)) {}
    expect(store.lag()).toBe(0);
    await store.expectCurrent([1n, 2n, 3n, 4n, 5n, 6n]);
    expect(await checkDatabase(store.file, "full")).toEqual([]);
  });

  it("are applied before they are deleted", async () => {
    const store = await Store.create();
    store.commit([1n, 1n, 2n], 5n);
    const opened = openSqliteStore(store.file);
    onTestFinished(() => opened.close());
    while (await opened.deleteOutdated(Number.MAX_SAFE_INTEGER, Number.MAX_SAFE_INTEGER)) {}
    expect(await checkDatabase(store.file, "full")).toEqual([]);
    await store.expectCurrent([1n, 2n, 3n]);
  });

  it("are applied before they are deleted, no more in one step than it deletes", async () => {
    const pets = 5_000;
    const store = await Store.create(pets);
    store.commit(
      Array.from({ length: pets }, (_, index) => BigInt(index)),
      1n,
    );
    const opened = openSqliteStore(store.file);
    onTestFinished(() => opened.close());
    const deleteOutdated = () => opened.deleteOutdated(Number.MAX_SAFE_INTEGER, Number.MAX_SAFE_INTEGER);
    let applied = 0;
    while (await deleteOutdated()) {
      const before = applied;
      applied = store.count("stock WHERE quantity > 0");
      expect(applied - before).toBeLessThanOrEqual(2_000);
    }
    expect(store.count("changes")).toBe(1);
    expect(await checkDatabase(store.file, "full")).toEqual([]);
    await store.expectCurrent([0n, 1n, 4_998n, 4_999n]);
  });

  it("keep outdated changes where they cannot be applied, and no other outdated rows", async () => {
    const store = await Store.create();
    store.commit([1n], 10_000n);
    const opened = openSqliteStore(store.file);
    onTestFinished(() => opened.close());
    const hold = (n: number) => ({ holdId: `hold_${n}`, petId: 1n, quantity: 1n, ttlMs: 1, reference: undefined });
    const createHold = (n: number) =>
      opened.createHold(hold(n), createContext({ idempotency: createIdempotency(`${n}`) }));
    for (let n = 0; n < 2_100; n += 300) {
      await Promise.all(Array.from({ length: 300 }, (_, index) => createHold(n + index)));
    }
    store.connection.execute(`CREATE TRIGGER failing BEFORE UPDATE OF quantity ON stock WHEN new.pet_id = 2
                              BEGIN SELECT raise(ABORT, 'no'); END`);
    store.commit([2n, 2n], 5n);
    const since = createContext().nowMs + idempotencyMs;
    const now = since + idempotencyMs;
    expect(await opened.deleteOutdated(since, now)).toBe(true);
    await expect(opened.deleteOutdated(since, now)).rejects.toThrow();
    expect(store.count("holds")).toBe(0);
    expect(store.count("idempotency_records")).toBe(0);
    expect(store.count("changes")).toBe(303);
  });

  it("are part of an import's pets, an export and the next adjustment", async () => {
    const store = await Store.create();
    store.commit([1n, 2n], 5n);
    const opened = openSqliteStore(store.file);
    onTestFinished(() => opened.close());
    expect((await Array.fromAsync(opened.exportPets())).slice(1, 3).map(({ quantity }) => quantity)).toEqual([5n, 6n]);
    await opened.importAll({ pets: [{ id: 1n, status: "sold" }] }, 0);
    const { value } = await opened.changeStock(adjust(1n, -2n), createContext());
    expect(value).toMatchObject({ quantity: 3n, status: "sold" });
    expect(await checkDatabase(store.file, "full")).toEqual([]);
  });

  it("are left to the server, and not even read, by a command that writes something else", async () => {
    const store = await Store.create();
    store.commit([1n, 2n], 5n);
    const reads = vi.spyOn(Connection.prototype, "all");
    onTestFinished(() => reads.mockRestore());
    const opened = openSqliteStore(store.file, { writesDirectly: true });
    await opened.createKey(createKey({ id: "key_a" }), hashOf("a"));
    await opened.close();
    expect(reads.mock.calls.filter(([sql]) => sql.includes("FROM changes"))).toEqual([]);
    expect(store.lag()).toBe(2);
    await store.expectCurrent([1n, 2n, 3n]);
  });

  it("are in the stock once a store is closed", async () => {
    const store = await Store.create();
    const opened = openSqliteStore(store.file);
    await opened.changeStock(set(7n, 9n), createContext());
    await opened.close();
    expect(store.count("stock WHERE pet_id = 7 AND quantity = 9")).toBe(1);
    expect(store.count("unapplied_stock")).toBe(0);
  });
});
