import { setTimeout } from "node:timers/promises";
import { describe, expect, it, onTestFinished } from "vitest";
import type { Store } from "../../../src/domain/store.ts";
import { runSql } from "../../support/postgres/databases.ts";
import { postgresPrograms } from "../../support/postgres/programs.ts";
import type { DatabaseProxy } from "../../support/postgres/proxy.ts";
import { createContext, createKey, everything, hashOf, setStock } from "../samples.ts";
import { adjust } from "../stocked-pets.ts";
import {
  commits,
  countChangedAtOnce,
  countWaiting,
  historyOf,
  holdCommits,
  lostBehindPooler,
  openBehindProxy,
} from "./behind-proxy.ts";

/** Sets a stock count under an idempotency key, which takes a transaction of two round trips. */
function setStockOnce(store: Store, petId: bigint, quantity: bigint) {
  const idempotency = { key: `${quantity}`, fingerprint: "0".repeat(64) };
  return store.changeStock({ kind: "set", petId, quantity }, createContext({ idempotency }));
}

/** Sets the count of pet 1 to 5, and loses the answer. */
async function loseAnswer(proxied: Store, direct: Store, proxy: DatabaseProxy): Promise<void> {
  proxy.decide = (bytes) => (commits(bytes) ? "mute" : "pass");
  const lost = setStock(proxied, 1n, 5n);
  lost.catch(() => {});
  await expect.poll(async () => (await direct.getEntry(1n)).quantity).toBe(5n);
  proxy.cut();
  await expect(lost).rejects.toMatchObject(unavailable);
  proxy.decide = () => "pass";
}

/** Counts the messages of clients that a proxy passes on: each is sent in one write, and waits for an answer. */
function countMessages(proxy: DatabaseProxy): () => number {
  let count = 0;
  proxy.decide = () => {
    count += 1;
    return "pass";
  };
  return () => count;
}

async function elapsedMs(work: () => Promise<unknown>): Promise<number> {
  const startedAt = performance.now();
  await work();
  return performance.now() - startedAt;
}

const unavailable = { code: "UNAVAILABLE" };

describe.skipIf(postgresPrograms === undefined)("a store whose database", () => {
  it("is lost in mid-commit does not know what has become of the update, and goes on", async () => {
    const { proxied, direct, proxy } = await openBehindProxy();
    await loseAnswer(proxied, direct, proxy);
    await setStock(proxied, 1n, 7n);
    expect(await historyOf(direct)).toEqual([
      [1n, 10n, 5n],
      [1n, 5n, 7n],
    ]);
  });

  it("is lost in mid-commit tells the store of its own update, as of one by others", async () => {
    const { proxied, direct, proxy } = await openBehindProxy();
    const former = await proxied.changeTokens();
    await loseAnswer(proxied, direct, proxy);
    expect((await proxied.changeTokens()).stock).toBeGreaterThan(former.stock);
  });

  it("was lost in mid-commit tells the store of no update that is acknowledged", async () => {
    const { proxied, direct, proxy, url } = await openBehindProxy();
    const options = { version: "1.2.3", countsAlone: false, replaced() {} };
    const registrations = [await proxied.registerServer?.(options)];
    await loseAnswer(proxied, direct, proxy);
    const former = await proxied.changeTokens();
    const write = async () => {
      await setStock(proxied, 1n, 7n);
      await setStockOnce(proxied, 1n, 8n);
    };
    await write();
    expect(await proxied.changeTokens()).toEqual(former);
    proxy.cut();
    await write();
    expect(await proxied.changeTokens()).toEqual(former);
    // A server that starts takes over the counts of those that have ended.
    registrations.push(await direct.registerServer?.(options));
    await write();
    await proxied.createKey(createKey({ id: "key_a" }), hashOf("a"));
    expect(await proxied.changeTokens()).toEqual(former);
    for (const registration of registrations) {
      await registration?.release();
    }
    await proxied.close();
    const [counts] = await runSql(url, "SELECT writer FROM change_counts WHERE count > 0 AND topic = 'keys'");
    expect(counts?.rows).toEqual([{ writer: "" }]);
  });

  it.each([
    ["at once", setStock],
    ["in two round trips", setStockOnce],
  ])("is lost behind a pooler, which says so in an error, tells the store of its own update: %s", async (_, set) => {
    const { proxied, direct, proxy } = await openBehindProxy();
    const former = await proxied.changeTokens();
    proxy.decide = (bytes) => (commits(bytes) ? "mute" : "pass");
    const lost = set(proxied, 1n, 5n);
    lost.catch(() => {});
    await expect.poll(async () => (await direct.getEntry(1n)).quantity).toBe(5n);
    proxy.cut({ last: lostBehindPooler });
    await expect(lost).rejects.toMatchObject(unavailable);
    proxy.decide = () => "pass";
    const told = () =>
      proxied.changeTokens().then(
        ({ stock }) => stock,
        () => 0,
      );
    await expect.poll(told).toBeGreaterThan(former.stock);
  });

  it("that refuses a write tells the store of none of its own", async () => {
    const { proxied, url } = await openBehindProxy();
    const former = await proxied.changeTokens();
    await runSql(
      url,
      `CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS
         $$ BEGIN RAISE EXCEPTION 'the disk is full' USING ERRCODE = '53100'; END $$`,
      "CREATE TRIGGER full_disk BEFORE INSERT ON changes EXECUTE FUNCTION refuse()",
    );
    onTestFinished(async () => {
      await runSql(url, "DROP FUNCTION refuse CASCADE");
    });
    for (const write of [() => setStock(proxied, 1n, 5n), () => setStockOnce(proxied, 1n, 5n)]) {
      await expect(write()).rejects.toMatchObject(unavailable);
    }
    await proxied.createKey(createKey({ id: "key_a" }), hashOf("a"));
    expect(await proxied.changeTokens()).toEqual(former);
  });

  it("commits late what its caller has given up keeps later writes waiting, so that they come after it", async () => {
    const { proxied, direct, proxy, url } = await openBehindProxy();
    const held = holdCommits(proxy);
    const lost = setStockOnce(proxied, 1n, 5n);
    lost.catch(() => {});
    await held;
    proxy.cut({ linger: true });
    await expect(lost).rejects.toMatchObject(unavailable);
    const later = setStock(direct, 1n, 7n);
    await expect.poll(() => countWaiting(url)).toBe(1);
    proxy.release();
    await later;
    expect((await direct.getEntry(1n)).quantity).toBe(7n);
    expect(await historyOf(direct)).toEqual([
      [1n, 10n, 5n],
      [1n, 5n, 7n],
    ]);
  });

  it("never hears a commit ends that transaction by itself, and then takes the writes of others", async () => {
    const { proxied, direct, proxy } = await openBehindProxy();
    const held = holdCommits(proxy);
    const lost = setStockOnce(proxied, 1n, 5n);
    lost.catch(() => {});
    await held;
    proxy.cut({ linger: true });
    await expect(lost).rejects.toMatchObject(unavailable);
    await expect.poll(() => setStock(direct, 1n, 7n).catch(() => undefined), { timeout: 8_000 }).toBeDefined();
    proxy.release();
    await setTimeout(200);
    // An attempt that was refused for its time may have been made all the same.
    const history = await historyOf(direct);
    expect(history[0]).toEqual([1n, 10n, 7n]);
    expect(new Set(history.map(([, , after]) => after))).toEqual(new Set([7n]));
  });

  it("gets changes late that were to be made at once makes them, where nobody has written since", async () => {
    const { proxied, direct, proxy } = await openBehindProxy();
    const held = holdCommits(proxy);
    const lost = setStock(proxied, 1n, 5n);
    lost.catch(() => {});
    await held;
    proxy.cut({ linger: true });
    await expect(lost).rejects.toMatchObject(unavailable);
    const former = await proxied.changeTokens();
    proxy.release();
    await expect.poll(async () => (await direct.getEntry(1n)).quantity).toBe(5n);
    // Its notification may come while the change still counts as the store's own. The tokens tell of it in either case.
    await expect.poll(async () => (await proxied.changeTokens()).stock).toBeGreaterThan(former.stock);
    await setStock(direct, 1n, 7n);
    expect(await historyOf(direct)).toEqual([
      [1n, 10n, 5n],
      [1n, 5n, 7n],
    ]);
  });

  it.each([
    ["a change", (store: Store) => setStock(store, 1n, 7n), [[1n, 10n, 7n]]],
    [
      "a hold",
      (store: Store) =>
        store.createHold(
          { holdId: "hold_a", petId: 1n, quantity: 1n, ttlMs: 60_000, reference: undefined },
          createContext(),
        ),
      [],
    ],
  ])(
    "gets changes late that were to be made at once makes none of them behind %s of another",
    async (_, write, made) => {
      const { proxied, direct, proxy, url } = await openBehindProxy();
      const held = holdCommits(proxy);
      const lost = setStock(proxied, 1n, 5n);
      lost.catch(() => {});
      await held;
      proxy.cut({ linger: true });
      await expect(lost).rejects.toMatchObject(unavailable);
      await write(direct);
      expect(await countChangedAtOnce(url)).toBe(0);
      proxy.release();
      await expect.poll(() => countChangedAtOnce(url)).toBe(1);
      expect(await historyOf(direct)).toEqual(made);
    },
  );

  it("gets a change late that was refused since makes it not, although the hold in its way has been released", async () => {
    const { proxied, direct, proxy, url } = await openBehindProxy();
    const hold = { holdId: "hold_a", petId: 1n, quantity: 10n, ttlMs: 60_000, reference: undefined };
    await proxied.createHold(hold, createContext());
    const held = holdCommits(proxy);
    const refused = proxied.changeStock(adjust(1n, -1n), createContext());
    refused.catch(() => {});
    await held;
    proxy.decide = () => "pass";
    proxy.cut({ linger: true });
    await expect(refused).rejects.toMatchObject({ code: "INSUFFICIENT_STOCK" });
    await direct.releaseHold({ holdId: "hold_a" }, createContext());
    expect(await countChangedAtOnce(url)).toBe(0);
    proxy.release();
    await expect.poll(() => countChangedAtOnce(url)).toBe(1);
    expect(await historyOf(direct)).toEqual([]);
    // The writer knows where it has left the head.
    const messages = countMessages(proxy);
    await setStock(proxied, 1n, 7n);
    expect(messages()).toBe(1);
    expect(await historyOf(direct)).toEqual([[1n, 10n, 7n]]);
  });

  it("has heard of no other writer makes plain changes in one round trip, and in two for a while otherwise", async () => {
    const { proxied, direct, proxy } = await openBehindProxy();
    const messages = countMessages(proxy);
    async function countOf(work: () => Promise<unknown>): Promise<number> {
      const before = messages();
      await work();
      return messages() - before;
    }
    const set = () => countOf(() => setStock(proxied, 1n, 5n));
    const both = () => countOf(() => Promise.all([setStock(proxied, 1n, 5n), setStock(proxied, 2n, 6n)]));
    expect([await set(), await both()]).toEqual([1, 1]);
    expect(await countOf(() => setStockOnce(proxied, 1n, 5n))).toBe(2);
    expect(await set()).toBe(1);
    await setStock(direct, 1n, 7n);
    expect([await set(), await set(), await set()]).toEqual([3, 2, 1]);
    expect((await historyOf(direct)).at(-1)).toEqual([1n, 5n, 5n]);
    const hold = { holdId: "hold_a", petId: 1n, quantity: 1n, ttlMs: 60_000, reference: undefined };
    await proxied.createHold(hold, createContext());
    const add = (delta: bigint) =>
      countOf(() => proxied.changeStock(adjust(1n, delta), createContext()).catch(() => {}));
    expect([await add(1n), await add(1n), await set()]).toEqual([1, 1, 1]);
    // What may be refused takes two, and so do the next ones, which may be like it.
    expect([await add(-99n), await add(-99n), await set()]).toEqual([3, 2, 2]);
  });

  it("finds its connection dead writes plain changes once, over another connection", async () => {
    const { proxied, direct, proxy } = await openBehindProxy();
    proxy.decide = (bytes) => {
      if (commits(bytes)) {
        proxy.decide = () => "pass";
        setImmediate(() => proxy.cut());
        return "hold";
      }
      return "pass";
    };
    expect((await setStock(proxied, 1n, 5n)).quantity).toBe(5n);
    expect(await historyOf(direct)).toEqual([[1n, 10n, 5n]]);
  });

  it("hangs says within 8 s that it is not available, and is well again at once", async () => {
    const { proxied, proxy } = await openBehindProxy();
    proxy.freeze();
    const calls = [
      () => setStock(proxied, 1n, 5n),
      () => proxied.getEntry(1n),
      () => proxied.listInventory(everything),
      () => proxied.listKeys(),
      () => proxied.ready(),
    ];
    const waits = calls.map(async (call) => {
      const tookMs = await elapsedMs(() => expect(call()).rejects.toMatchObject(unavailable));
      expect(tookMs).toBeLessThan(8_000);
    });
    // Writes that come while another one hangs are told in time, too.
    const late = setTimeout(3_500).then(() => elapsedMs(() => expect(setStock(proxied, 2n, 1n)).rejects.toThrow()));
    await Promise.all(waits);
    expect(await late).toBeLessThan(8_000);
    proxy.thaw();
    proxy.cut();
    await expect.poll(() => setStock(proxied, 1n, 6n).catch(() => undefined), { timeout: 5_000 }).toBeDefined();
    await proxied.ready();
  });

  it("cuts all connections fails no read for longer than a moment, and no write that has not begun", async () => {
    const { proxied, proxy } = await openBehindProxy();
    for (let round = 0; round < 5; round += 1) {
      proxy.cut();
      await setTimeout(20);
      expect((await setStock(proxied, 1n, BigInt(round))).quantity).toBe(BigInt(round));
      expect((await proxied.getEntry(1n)).quantity).toBe(BigInt(round));
    }
  });

  it("loses a connection does each idempotent write once, however often it is retried", async () => {
    const { proxied, direct, proxy } = await openBehindProxy();
    const command = { kind: "adjust", petId: 1n, delta: -1n, allowNegative: false } as const;
    const idempotency = { key: "order 17", fingerprint: "0".repeat(64) };
    proxy.decide = (bytes) => (commits(bytes) ? "mute" : "pass");
    const lost = proxied.changeStock(command, createContext({ idempotency }));
    lost.catch(() => {});
    await expect.poll(async () => (await direct.getEntry(1n)).quantity).toBe(9n);
    proxy.cut();
    await expect(lost).rejects.toMatchObject(unavailable);
    proxy.decide = () => "pass";
    const retried = await proxied.changeStock(command, createContext({ idempotency }));
    expect(retried).toMatchObject({ isReplayed: true, value: { quantity: 9n } });
  });
});
