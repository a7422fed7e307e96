import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import {
  anonymousLimit,
  decide,
  decideAnonymous,
  noUsage,
  refusalsForBan,
  type Usage,
  type Window,
} from "../../../src/domain/limits.ts";
import {
  createScripts,
  parseUsageReply,
  parseWindowReply,
  type Script,
} from "../../../src/rate-limit/redis/scripts.ts";
import { LimitsModel, quotas, starts, steps } from "../../support/limits-model.ts";
import { hasRedis, RedisServer } from "../../support/redis-server.ts";

const minuteMs = 60_000;
const dayMs = 86_400_000;

describe.runIf(hasRedis)("the scripts of the limits (skipped without redis-server)", () => {
  let redis: RedisServer;
  let histories = 0;
  const scripts = createScripts("local now = tonumber(redis.call('GET', 'now'))");

  beforeAll(async () => {
    redis = await RedisServer.start();
  });

  afterAll(() => redis?.stop());

  /** Runs a script at a time, and keeps what it has written for longer than the real clock would. */
  async function run(script: Script, key: string, nowMs: number, args: readonly number[]) {
    const results = await redis.client
      .multi()
      .set("now", nowMs)
      .eval(script.source, 1, key, ...args)
      .pttl(key)
      .persist(key)
      .exec();
    const [, reply, ttlMs] = (results ?? []).map(([error, result]) => {
      expect(error).toBeNull();
      return result;
    });
    return { reply: String(reply), ttlMs: Number(ttlMs) };
  }

  /** A key of its own for each history, which never ends sooner than its counts matter. */
  const newKey = () => `history-${++histories}`;

  interface Charge {
    readonly key: string;
    readonly quota: { readonly perMinute: number; readonly perDay: number };
    readonly unbans: number;
    readonly nowMs: number;
    readonly requests: number;
  }

  async function charge({ key, quota, unbans, nowMs, requests }: Charge) {
    const args = [requests, quota.perMinute, quota.perDay, refusalsForBan(quota), unbans];
    const { reply, ttlMs } = await run(scripts.chargeKey, key, nowMs, args);
    return { ...parseUsageReply(reply), ttlMs };
  }

  /** The rules of the domain, request by request. */
  function chargeByDomain(usage: Usage, { quota, unbans, nowMs, requests }: Charge) {
    const outcomes: string[] = [];
    let after = usage;
    for (let made = 0; made < requests; made += 1) {
      const decision = decide(after, { quota, unbans }, nowMs);
      outcomes.push(decision.outcome);
      after = decision.usage;
    }
    return { outcomes, after };
  }

  it("count any history as the naive model and the domain do", async () => {
    await fc.assert(
      fc.asyncProperty(quotas, starts, fc.array(steps, { maxLength: 60 }), async (quota, startMs, history) => {
        const key = newKey();
        const model = new LimitsModel(quota);
        let [usage, unbans, nowMs]: [Usage, number, number] = [noUsage, 0, startMs];
        for (const step of history) {
          if (step === "unban") {
            // It takes effect with the next request. The model's does at once.
            unbans += 1;
            model.unban(nowMs);
          }
          const { waitMs, times } = step === "unban" ? { waitMs: 0, times: 1 } : step;
          nowMs += waitMs;
          const made = { key, quota, unbans, nowMs, requests: times };
          const { before, nowMs: toldMs } = await charge(made);
          expect(toldMs).toBe(nowMs);
          expect(before).toEqual(usage);
          const { outcomes, after } = chargeByDomain(usage, made);
          expect(outcomes).toEqual(Array.from({ length: times }, () => model.decide(nowMs)));
          usage = after;
        }
      }),
      { numRuns: 100 },
    );
  });

  it("count as the domain does, though the clock is put back and the plan changes", async () => {
    const moves = fc.record({
      waitMs: fc.oneof(fc.integer({ min: -3 * minuteMs, max: 3 * minuteMs }), fc.integer({ min: -dayMs, max: dayMs })),
      quota: quotas,
      requests: fc.nat(40),
      unban: fc.integer({ min: 0, max: 5 }).map((n) => n === 5),
    });
    await fc.assert(
      fc.asyncProperty(starts, fc.array(moves, { maxLength: 60 }), async (startMs, history) => {
        const key = newKey();
        let [usage, unbans, nowMs]: [Usage, number, number] = [noUsage, 0, startMs];
        for (const { waitMs, quota, requests, unban } of history) {
          nowMs += waitMs;
          unbans += unban ? 1 : 0;
          const made = { key, quota, unbans, nowMs, requests };
          expect((await charge(made)).before).toEqual(usage);
          usage = chargeByDomain(usage, made).after;
        }
      }),
      { numRuns: 100 },
    );
  });

  it("keep a usage for as long as any of it matters, and no longer", async () => {
    const quota = { perMinute: 1, perDay: 9 };
    const key = newKey();
    const at = (nowMs: number, requests: number) => charge({ key, quota, unbans: 0, nowMs, requests });
    expect((await at(1_000_000, 1)).ttlMs).toBeGreaterThan(dayMs - 1_000);
    expect((await at(1_000_000, 1)).ttlMs).toBeLessThanOrEqual(dayMs);
    // A ban of two minutes is remembered for a day after its end.
    const { ttlMs } = await at(1_000_000, 20);
    expect(ttlMs).toBeGreaterThan(dayMs + 2 * minuteMs - 1_000);
    expect(ttlMs).toBeLessThanOrEqual(dayMs + 2 * minuteMs);
    // The second ban in a row lasts ten minutes, and is remembered for two days.
    await at(1_000_000 + 2 * minuteMs, 1);
    const second = await at(1_000_000 + 2 * minuteMs, 20);
    expect(second.ttlMs).toBeGreaterThan(2 * dayMs + 10 * minuteMs - 1_000);
    expect(second.ttlMs).toBeLessThanOrEqual(2 * dayMs + 10 * minuteMs);
  });

  it("change nothing when they are asked to charge nothing", async () => {
    const key = newKey();
    const made = { key, quota: { perMinute: 5, perDay: 9 }, unbans: 0, nowMs: 1_000_000 };
    await charge({ ...made, requests: 3 });
    await charge({ ...made, requests: 0 });
    expect((await charge({ ...made, requests: 0 })).before.minute).toEqual({ openedAtMs: 1_000_000, count: 3 });
  });

  it("take nothing back of what a network has used when its limit becomes smaller", async () => {
    const key = newKey();
    await run(scripts.chargeNetwork, key, 1_000_000, [30, 40]);
    await run(scripts.chargeNetwork, key, 1_000_000, [1, 20]);
    const { reply } = await run(scripts.chargeNetwork, key, 1_000_000, [1, 20]);
    expect(parseWindowReply(reply).before?.count).toBe(30);
  });

  it("count networks as the domain does", async () => {
    const moves = fc.record({
      waitMs: fc.oneof(fc.nat(2 * minuteMs), fc.integer({ min: -minuteMs, max: minuteMs })),
      requests: fc.integer({ min: 1, max: 200 }),
    });
    await fc.assert(
      fc.asyncProperty(starts, fc.array(moves, { maxLength: 30 }), async (startMs, history) => {
        const key = newKey();
        let [window, nowMs]: [Window | undefined, number] = [undefined, startMs];
        for (const { waitMs, requests } of history) {
          nowMs += waitMs;
          const { reply } = await run(scripts.chargeNetwork, key, nowMs, [requests, anonymousLimit]);
          expect(parseWindowReply(reply)).toEqual({ nowMs, before: window });
          for (let made = 0; made < requests; made += 1) {
            window = decideAnonymous(window, nowMs).window;
          }
        }
      }),
      { numRuns: 60 },
    );
  });

  it("keep a stream's place for as long as it is renewed", async () => {
    const key = newKey();
    const nowMs = 1_700_000_000_000;
    const { source } = scripts.takePlace;
    await redis.client.set("now", nowMs);
    expect(await redis.client.eval(source, 1, key, "stream", 1, 1_000)).toBe(1);
    await redis.client.eval(scripts.keepPlaces.source, 1, key, 60_000, "stream");
    expect(await redis.client.pttl(key)).toBeGreaterThan(1_000);
    await redis.client.set("now", nowMs + 59_999);
    expect(await redis.client.eval(source, 1, key, "another", 1, 1_000)).toBe(0);
    await redis.client.set("now", nowMs + 60_000);
    expect(await redis.client.eval(source, 1, key, "another", 1, 1_000)).toBe(1);
  });
});
