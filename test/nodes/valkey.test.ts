import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Outcome } from "../support/clients/client.ts";
import { rest } from "../support/clients/protocols.ts";
import { until } from "../support/deadline.ts";
import { expectLimits } from "../support/expectations.ts";
import { canHaveNodes } from "../support/left-out.ts";
import { amount } from "../support/long.ts";
import { RedisServer } from "../support/redis-server.ts";
import type { TestServer } from "../support/server.ts";
import { TcpProxy } from "../support/tcp-proxy.ts";
import { Nodes, promisedMs } from "./nodes.ts";

const perMinute = 60;

/** The one that refuses while Valkey is away. The others count by themselves. */
const refusing = 2;

/** A second, where the machine leaves it at that: after 1.5 s Valkey counts as away. */
const delayMs = amount(500, 1_000);

/** What became of some requests: how many were admitted, and how many failed with each code. */
type Tally = Readonly<Record<string, number>>;

function tally(outcomes: readonly Outcome[]): Tally {
  const codes = outcomes.map(({ failure }) => failure?.code ?? "admitted");
  return Object.fromEntries([...Map.groupBy(codes, (code) => code)].map(([code, all]) => [code, all.length]));
}

describe.runIf(canHaveNodes)("three servers that have Valkey count", () => {
  let nodes: Nodes;
  let proxy: TcpProxy;
  let redis: RedisServer;

  beforeAll(async () => {
    redis = await RedisServer.start();
    proxy = await TcpProxy.start(redis.port);
    nodes = await Nodes.start({
      flags: (index) => ["--limits", proxy.url, ...(index === refusing ? ["--limits-fallback", "refuse"] : [])],
    });
  });

  afterAll(async () => {
    await nodes?.stop();
    proxy?.close();
    await redis?.stop();
  });

  const mint = async () => (await nodes.store.mintQuota(perMinute, 10_000)).key;
  const ask = (server: TestServer, key: string) => server.call(rest, "getPet", { petId: 7n }, { key });

  /** Asks each server so often, all at once. */
  async function burst(key: string, each: number): Promise<Outcome[]> {
    const asked = await nodes.each((server) => Promise.all(Array.from({ length: each }, () => ask(server, key))));
    return asked.flat();
  }

  async function isAway(server: TestServer): Promise<boolean> {
    const status = (await (await fetch(`${server.opsOrigin}/status`)).json()) as {
      limits: { shared: { away: unknown } };
    };
    return status.limits.shared.away !== null;
  }

  it("admit exactly the plan together, and tell each request another remainder", async () => {
    const outcomes = await burst(await mint(), 25);
    expect(tally(outcomes)).toEqual({ admitted: perMinute, RATE_LIMIT_EXCEEDED: 15 });
    const admitted = outcomes.filter(({ failure }) => failure === undefined);
    const remainders = admitted.map(({ headers }) => expectLimits(headers).remaining);
    expect(remainders.toSorted((a, b) => a - b)).toEqual(
      Array.from({ length: perMinute }, (_, remaining) => remaining),
    );
  });

  it(`do so with answers that are delayed by ${delayMs} ms`, { timeout: 60_000 }, async () => {
    const key = await mint();
    proxy.delayMs = delayMs;
    const outcomes = await burst(key, 25);
    proxy.delayMs = 0;
    expect(tally(outcomes)).toEqual({ admitted: perMinute, RATE_LIMIT_EXCEEDED: 15 });
    expect(await nodes.each(isAway)).toEqual([false, false, false]);
  });

  it("ban together", async () => {
    const key = await mint();
    await burst(key, 41);
    const outcomes = await nodes.each((server) => ask(server, key));
    expect(tally(outcomes)).toEqual({ API_KEY_BANNED: 3 });
  });

  it("go on from what each last knew while it is killed, or refuse; and count together within 5 s of its return, empty", {
    timeout: 60_000,
  }, async () => {
    const key = await mint();
    const other = await mint();
    await burst(key, 10);
    const left = await nodes.each(async (server) => expectLimits((await ask(server, key)).headers).remaining);
    const { port } = redis;
    await redis.stop();
    const askedAtMs = performance.now();
    const asked = await nodes.each((server) => Promise.all(Array.from({ length: 31 }, () => ask(server, key))));
    expect(performance.now() - askedAtMs).toBeLessThan(promisedMs(3_000));
    for (const [index, outcomes] of asked.entries()) {
      const admitted = left[index] as number;
      const expected = { admitted, RATE_LIMIT_EXCEEDED: outcomes.length - admitted };
      expect(tally(outcomes)).toEqual(index === refusing ? { UNAVAILABLE: outcomes.length } : expected);
    }
    expect(await nodes.each(isAway)).toEqual([true, true, true]);

    redis = await RedisServer.start({ port });
    await until(async () => (await nodes.each(isAway)).every((away) => !away), promisedMs(5_000));
    expect(tally(await burst(other, 25))).toEqual({ admitted: perMinute, RATE_LIMIT_EXCEEDED: 15 });
  });
});
