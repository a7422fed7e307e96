import { setTimeout } from "node:timers/promises";
import { describe, expect, it, onTestFinished } from "vitest";
import type { StockChange } from "../../../src/domain/history.ts";
import type { Store } from "../../../src/domain/store.ts";
import { Connection } from "../../../src/storage/postgres/connection/connection.ts";
import { parseDatabaseUrl } from "../../../src/storage/postgres/connection/database-url.ts";
import { amount } from "../../support/long.ts";
import { runSql } from "../../support/postgres/databases.ts";
import { postgresPrograms } from "../../support/postgres/programs.ts";
import type { DatabaseProxy } from "../../support/postgres/proxy.ts";
import { Random } from "../../support/random.ts";
import { createPet, setStock } from "../samples.ts";
import { codesOf } from "../stocked-pets.ts";
import { countChangedAtOnce, countWaiting, historyOf, holdCommits, openBehindProxy } from "./behind-proxy.ts";

/** Locks the head of a database's store, so that no write of stock is made until the lock is released. */
async function lockHead(url: string): Promise<{ release(): Promise<void> }> {
  const connection = await Connection.open(parseDatabaseUrl(url));
  onTestFinished(() => connection.close());
  await connection.script("BEGIN; SELECT FROM head FOR UPDATE");
  return { release: () => connection.script("ROLLBACK") };
}

/** All changes of a store, the oldest first. */
async function changesOf(store: Store): Promise<StockChange[]> {
  const all: StockChange[] = [];
  for (;;) {
    const query = { after: all.at(-1)?.revision ?? 0n, petIds: [], newestFirst: false, limit: 1_000 };
    const { changes } = await store.listChanges(query);
    if (changes.length === 0) {
      return all;
    }
    all.push(...changes);
  }
}

/** Makes two changes, the second one as soon as the first one has left. Resolves when both have. */
async function sendTwo(store: Store, proxy: DatabaseProxy, handling: "pass" | "hold" | "mute") {
  let messages = 0;
  proxy.decide = () => {
    messages += 1;
    return handling;
  };
  const first = setStock(store, 1n, 5n);
  await expect.poll(() => messages).toBe(1);
  const second = setStock(store, 2n, 6n);
  if (handling === "hold") {
    // What is held behind something else is not decided on.
    await setTimeout(100);
  } else {
    await expect.poll(() => messages).toBe(2);
  }
  const calls = [first, second];
  for (const call of calls) {
    call.catch(() => {});
  }
  return calls;
}

const cuts = amount(20, 500);

describe.skipIf(postgresPrograms === undefined)("a group of plain changes in PostgreSQL", () => {
  it("is followed by the next one while it is under way", async () => {
    const { proxied, proxy, url, direct } = await openBehindProxy();
    const lock = await lockHead(url);
    const calls = await sendTwo(proxied, proxy, "pass");
    await lock.release();
    await Promise.all(calls);
    expect(await historyOf(direct)).toEqual([
      [1n, 10n, 5n],
      [2n, 10n, 6n],
    ]);
  });

  it("is made behind another server's change, and the one that follows it as well", async () => {
    const { proxied, proxy, url, direct } = await openBehindProxy();
    const lock = await lockHead(url);
    const others = setStock(direct, 1n, 7n);
    await expect.poll(() => countWaiting(url)).toBe(1);
    const calls = await sendTwo(proxied, proxy, "pass");
    await lock.release();
    await Promise.all([others, ...calls]);
    expect(await historyOf(direct)).toEqual([
      [1n, 10n, 7n],
      [1n, 7n, 5n],
      [2n, 10n, 6n],
    ]);
  });

  it("is made once over another connection, as is the one that follows it, where both are lost", async () => {
    const { proxied, proxy, direct } = await openBehindProxy();
    const calls = await sendTwo(proxied, proxy, "hold");
    proxy.decide = () => "pass";
    proxy.cut();
    await Promise.all(calls);
    expect(await historyOf(direct)).toEqual([
      [1n, 10n, 5n],
      [2n, 10n, 6n],
    ]);
  });

  it("is made once over another connection, as is the one that follows it, where an administrator ends theirs", async () => {
    const { proxied, proxy, url, direct } = await openBehindProxy();
    const lock = await lockHead(url);
    const calls = await sendTwo(proxied, proxy, "pass");
    await expect.poll(() => countWaiting(url)).toBe(1);
    await runSql(
      url,
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
       WHERE datname = current_database() AND wait_event_type = 'Lock'`,
    );
    await lock.release();
    expect(await codesOf(calls)).toEqual(["done", "done"]);
    expect(await historyOf(direct)).toEqual([
      [1n, 10n, 5n],
      [2n, 10n, 6n],
    ]);
  });

  it("is in doubt, as is the one that follows it, where both are made and the answers lost", async () => {
    const { proxied, proxy, direct } = await openBehindProxy();
    const calls = await sendTwo(proxied, proxy, "mute");
    await expect.poll(async () => (await historyOf(direct)).length).toBe(2);
    proxy.decide = () => "pass";
    proxy.cut();
    expect(await codesOf(calls)).toEqual(["UNAVAILABLE", "UNAVAILABLE"]);
    await setStock(proxied, 1n, 8n);
    expect(await historyOf(direct)).toEqual([
      [1n, 10n, 5n],
      [2n, 10n, 6n],
      [1n, 5n, 8n],
    ]);
  });

  it("is never made late behind another change, nor is the one that follows it", async () => {
    const { proxied, direct, proxy, url } = await openBehindProxy();
    const held = holdCommits(proxy);
    const first = setStock(proxied, 1n, 5n);
    await held;
    const second = setStock(proxied, 2n, 6n);
    await setTimeout(100);
    proxy.cut({ linger: true });
    expect(await codesOf([first, second])).toEqual(["UNAVAILABLE", "UNAVAILABLE"]);
    // It leaves the head where the second one expects it.
    await setStock(direct, 1n, 7n);
    expect(await countChangedAtOnce(url)).toBe(0);
    proxy.release();
    await expect.poll(() => countChangedAtOnce(url)).toBe(1);
    await setTimeout(200);
    expect(await historyOf(direct)).toEqual([[1n, 10n, 7n]]);
  });

  it(`is made once or never, in one order with all others, over ${cuts} connections cut at any moment`, {
    timeout: amount(60_000, 600_000),
  }, async () => {
    const { proxied, proxy, direct } = await openBehindProxy();
    const pets = Array.from({ length: 30 }, (_, index) => BigInt(index + 1));
    await direct.importAll({ pets: pets.map((id) => createPet({ id, quantity: 0n })) }, 0);
    const former = await changesOf(direct);
    const random = new Random(Date.now());
    const made: bigint[] = [];
    const failed: bigint[] = [];
    let last = 0n;
    let isOver = false;
    const callers = pets.map(async (pet) => {
      while (!isOver) {
        last += 1n;
        const value = last;
        await setStock(random.oneIn(20) ? direct : proxied, pet, value).then(
          () => made.push(value),
          () => failed.push(value),
        );
      }
    });
    try {
      for (let cut = 0; cut < cuts; cut += 1) {
        const wanted = made.length + 100;
        await expect.poll(() => made.length, { timeout: 20_000, interval: 5 }).toBeGreaterThan(wanted);
        const handling = random.pick(["pass", "hold", "mute"] as const);
        proxy.decide = () => handling;
        await setTimeout(random.below(10));
        proxy.decide = () => "pass";
        proxy.cut({ linger: random.oneIn(2) });
        proxy.release();
      }
    } finally {
      isOver = true;
    }
    await Promise.all(callers);
    const all = await changesOf(direct);
    expect(all.map(({ revision }) => revision)).toEqual(all.map((_, index) => BigInt(index + 1)));
    const changes = all.slice(former.length);
    const quantities = new Map(pets.map((pet) => [pet, 0n]));
    for (const { petId, before, after } of changes) {
      expect(before).toBe(quantities.get(petId));
      expect(after).toBeGreaterThan(before ?? 0n);
      quantities.set(petId, after);
    }
    const written = new Set(changes.map(({ after }) => after));
    expect(written.size).toBe(changes.length);
    expect(made.filter((value) => !written.has(value))).toEqual([]);
    expect(failed.length).toBeLessThan(made.length);
  });
});
