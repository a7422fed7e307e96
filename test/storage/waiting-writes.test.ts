import { setTimeout } from "node:timers/promises";
import Sqlite from "better-sqlite3";
import pg from "pg";
import { describe, expect, it, onTestFinished } from "vitest";
import type { HoldEnding, HoldRequest } from "../../src/domain/hold.ts";
import type { Store } from "../../src/domain/store.ts";
import { openPostgresStore } from "../../src/storage/postgres/store.ts";
import { openSqliteStore } from "../../src/storage/sqlite/store.ts";
import { createFolder } from "../support/folder.ts";
import { borrowDatabase } from "../support/postgres/databases.ts";
import { postgresPrograms } from "../support/postgres/programs.ts";
import { createContext, createIdempotency, createPet } from "./samples.ts";
import { adjust, codesOf } from "./stocked-pets.ts";

/** A store of a server, and a way to keep all its writers waiting. */
interface Opened {
  readonly store: Store;
  readonly now: () => number;
  /** Resolves to what lets the writers go on. */
  readonly block: () => Promise<() => Promise<void>>;
}

async function openSqlite(): Promise<Opened> {
  const file = `${createFolder()}/petstore.db`;
  const store = openSqliteStore(file, { datesWrites: true });
  const other = new Sqlite(file);
  onTestFinished(async () => {
    other.close();
    await store.close();
  });
  return {
    store,
    now: Date.now,
    async block() {
      other.exec("BEGIN IMMEDIATE");
      return async () => void other.exec("ROLLBACK");
    },
  };
}

async function openPostgres(): Promise<Opened> {
  const database = await borrowDatabase();
  const store = await openPostgresStore(database.url);
  const registration = await store.registerServer({ version: "1.2.3", countsAlone: false, replaced() {} });
  const other = new pg.Client({ connectionString: database.url });
  await other.connect();
  onTestFinished(async () => {
    await other.end();
    await registration.release();
    await store.close();
    await database.remove();
  });
  return {
    store,
    now: registration.clock,
    async block() {
      await other.query("BEGIN; SELECT * FROM head FOR UPDATE");
      return async () => void (await other.query("ROLLBACK"));
    },
  };
}

const ttlMs = 1_500;
const hold = (holdId: string): HoldRequest => ({ holdId, petId: 1n, quantity: 10n, ttlMs, reference: undefined });

describe.each([
  { name: "SQLite", open: openSqlite, isMissing: false },
  { name: "PostgreSQL", open: openPostgres, isMissing: postgresPrograms === undefined },
])("a write that waits for others in $name", ({ open, isMissing }) => {
  /** Asks for writes before a hold is over, and lets them go on when it is. */
  async function whenOver(write: (store: Store, ending: HoldEnding, atMs: number) => Promise<unknown>[]) {
    const { store, now, block } = await open();
    await store.importAll({ pets: [createPet({ id: 1n, quantity: 10n })] }, now());
    const { value } = await store.createHold(hold("hold_a"), createContext({ nowMs: now() }));
    const unblock = await block();
    const calls = write(store, { holdId: "hold_a" }, now());
    const codes = codesOf(calls);
    expect(now()).toBeLessThan(value.expiresAtMs);
    await setTimeout(value.expiresAtMs - now() + 150);
    await unblock();
    return { store, codes: await codes, overMs: value.expiresAtMs };
  }

  it.skipIf(isMissing)("cannot commit a hold that is over when it is written", async () => {
    const { codes } = await whenOver((store, ending, nowMs) => [store.commitHold(ending, createContext({ nowMs }))]);
    expect(codes).toEqual(["HOLD_ENDED"]);
  });

  it.skipIf(isMissing)("takes what a hold has kept until then", async () => {
    const { store, codes, overMs } = await whenOver((each, _ending, nowMs) => [
      each.changeStock(adjust(1n, -10n), createContext({ nowMs })),
    ]);
    expect(codes).toEqual(["done"]);
    const { changes } = await store.listChanges({ after: 0n, petIds: [], limit: 1, newestFirst: true });
    expect(changes[0]?.occurredAtMs).toBeGreaterThanOrEqual(overMs);
  });

  it.skipIf(isMissing)("creates a hold that lasts its whole time", async () => {
    const { store, codes, overMs } = await whenOver((each, _ending, nowMs) => [
      each.createHold(hold("hold_b"), createContext({ nowMs })),
    ]);
    expect(codes).toEqual(["done"]);
    expect((await store.getHold("hold_b", 0)).expiresAtMs).toBeGreaterThanOrEqual(overMs + ttlMs);
  });

  it.skipIf(isMissing)("is dated when it is written, also where it depends on no hold", async () => {
    const { store, now, block } = await open();
    await store.importAll({ pets: [createPet({ id: 1n, quantity: 10n })] }, now());
    const unblock = await block();
    const context = createContext({ nowMs: now(), idempotency: createIdempotency("a") });
    const call = store.changeStock(adjust(1n, 1n), context);
    await setTimeout(300);
    const unblockedAtMs = now();
    await unblock();
    await call;
    const { changes } = await store.listChanges({ after: 0n, petIds: [], limit: 1, newestFirst: true });
    expect(changes[0]?.occurredAtMs).toBeGreaterThanOrEqual(unblockedAtMs);
  });
});
