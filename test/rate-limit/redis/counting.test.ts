import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { until } from "../../support/deadline.ts";
import { MemoryUsageStore } from "../../support/memory-usage-store.ts";
import { hasRedis, RedisServer } from "../../support/redis-server.ts";
import { freshKey, TestLimits } from "./shared-limits.ts";

describe.runIf(hasRedis)("limits in Valkey (skipped without redis-server)", () => {
  let redis: RedisServer;
  const open: TestLimits[] = [];

  beforeAll(async () => {
    redis = await RedisServer.start();
  });

  afterEach(async () => {
    await Promise.all(open.splice(0).map((limits) => limits.close()));
  });

  afterAll(() => redis?.stop());

  async function openLimits(...options: Parameters<typeof TestLimits.open>[1][]): Promise<TestLimits[]> {
    const opened = await Promise.all(options.map((each) => TestLimits.open(redis.url, each)));
    open.push(...opened);
    return opened;
  }

  it.each([2, 3])("admit over %i servers at once exactly what the plan allows", async (count) => {
    const servers = await openLimits(...Array.from({ length: count }, () => ({})));
    const key = freshKey(500);
    const sums = { admitted: 0, refused: 0 };
    for (let round = 0; round < 20; round += 1) {
      const bursts = await Promise.all(servers.map((server) => server.burst(key, 12)));
      for (const { admitted, refused } of bursts) {
        sums.admitted += admitted;
        sums.refused += refused;
      }
    }
    const made = count * 20 * 12;
    expect(sums).toEqual({ admitted: Math.min(500, made), refused: Math.max(0, made - 500) });
  });

  it("ban a key for refusals that several servers have given", async () => {
    const [one, other] = (await openLimits({}, {})) as [TestLimits, TestLimits];
    const key = freshKey(1);
    expect(await one.burst(key, 11)).toEqual({ admitted: 1, refused: 10, banned: 0 });
    expect(await other.burst(key, 9)).toEqual({ admitted: 0, refused: 9, banned: 0 });
    expect(await one.burst(key, 1)).toEqual({ admitted: 0, refused: 0, banned: 1 });
    expect((await other.decide(key)).shown.resetAfterSeconds).toBe(120);
    // A server that has seen the unban tells the others.
    expect((await one.decide({ ...key, unbans: 1 })).outcome).toBe("refused");
    expect((await other.decide(key)).outcome).toBe("refused");
  });

  it("put a changed plan in force at once, and reset no counters", async () => {
    const [one, other] = (await openLimits({}, {})) as [TestLimits, TestLimits];
    const key = freshKey(60);
    await one.burst(key, 40);
    const larger = { ...key, customQuota: { perMinute: 100, perDay: 1_000 } };
    expect((await other.decide(larger)).shown).toMatchObject({ limit: 100, remaining: 59 });
    const smaller = { ...key, customQuota: { perMinute: 30, perDay: 1_000 } };
    expect((await one.decide(smaller)).shown).toMatchObject({ limit: 30, remaining: 0 });
  });

  it("describe a key, and charge nothing", async () => {
    const [one, other] = (await openLimits({}, {})) as [TestLimits, TestLimits];
    const key = freshKey(10);
    await one.burst(key, 4);
    for (let asked = 0; asked < 3; asked += 1) {
      const { minute, plan } = await other.limits.keys.describe(key);
      expect({ plan, remaining: minute.remaining }).toEqual({ plan: "enterprise", remaining: 6 });
    }
    // In the same turn as a charge, the description is of the moment before or after.
    const [, described] = await Promise.all([one.decide(key), one.limits.keys.describe(key)]);
    expect(described.minute.remaining).toBe(5);
  });

  it("count strangers by their network over all servers", async () => {
    const [one, other] = (await openLimits({}, {})) as [TestLimits, TestLimits];
    const ask = async (server: TestLimits, n: number) =>
      await Promise.all(Array.from({ length: n }, (_, i) => server.limits.anonymous.decide(`2001:db8:7::${i}`)));
    const decisions = [...(await ask(one, 200)), ...(await ask(other, 150))];
    expect(decisions.filter(({ outcome }) => outcome === "admitted")).toHaveLength(300);
    expect(decisions.at(-1)?.outcome).toBe("refused");
    expect((await one.limits.anonymous.decide("192.0.2.77")).outcome).toBe("admitted");
  });

  it("describe a network's count, and charge nothing", async () => {
    const [one, other] = (await openLimits({}, {})) as [TestLimits, TestLimits];
    const remaining = async (server: TestLimits) =>
      (await server.limits.anonymous.describe("192.0.2.78")).shown.remaining;
    expect([await remaining(one), await remaining(other)]).toEqual([300, 300]);
    await one.limits.anonymous.decide("192.0.2.78");
    expect([await remaining(one), await remaining(other)]).toEqual([299, 299]);
  });

  it("go by Valkey's clock, though the servers' own are ten minutes apart", async () => {
    const [behind, ahead] = (await openLimits({ aheadMs: -300_000 }, { aheadMs: 300_000 })) as [TestLimits, TestLimits];
    const key = freshKey(20);
    expect((await behind.burst(key, 12)).admitted).toBe(12);
    expect(await ahead.burst(key, 12)).toEqual({ admitted: 8, refused: 4, banned: 0 });
    expect(await behind.burst(key, 12)).toEqual({ admitted: 0, refused: 12, banned: 0 });
    const { resetAtMs } = (await ahead.decide(key)).shown;
    expect(Math.abs(resetAtMs - (Date.now() + 60_000))).toBeLessThan(5_000);
  });

  it("ask everything that one turn of the event loop brings in one round trip", async () => {
    const [server] = (await openLimits({})) as [TestLimits];
    const keys = Array.from({ length: 50 }, () => freshKey(10));
    const before = server.roundTrips;
    await Promise.all([
      ...keys.flatMap((key) => [server.decide(key), server.decide(key), server.limits.keys.describe(key)]),
      ...keys.map((_, i) => server.limits.anonymous.decide(`198.51.100.${i}`)),
    ]);
    expect(server.roundTrips - before).toBe(1);
  });

  it("have the store keep the sum of what all servers have counted, for keys show", async () => {
    const store = new MemoryUsageStore();
    const servers = await openLimits({ store }, { store }, { store });
    const key = freshKey(500);
    for (let round = 0; round < 5; round += 1) {
      await Promise.all(servers.map((server) => server.burst(key, 10)));
    }
    await until(async () => store.saved.get(key.id)?.day?.count === 150, 2_000);
    await Promise.all(servers.map((server) => server.burst(key, 10)));
    await Promise.all(open.splice(0).map((limits) => limits.close()));
    expect(store.saved.get(key.id)?.minute?.count).toBe(180);
  });

  it("have the store keep when a key last called a deprecated method", async () => {
    const store = new MemoryUsageStore();
    const [server] = (await openLimits({ store })) as [TestLimits];
    const key = freshKey(5);
    await server.decide(key);
    server.limits.keys.noteDeprecatedCall(key, "a.B/C");
    await until(async () => store.deprecatedCalls.get(key.id)?.has("a.B/C") === true, 2_000);
  });
});
