import { setImmediate } from "node:timers/promises";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import type { StreamPlace } from "../../../src/interceptors/streams.ts";
import type { ScriptCall } from "../../../src/rate-limit/redis/connection.ts";
import type { Counting } from "../../../src/rate-limit/redis/counting.ts";
import { createScripts } from "../../../src/rate-limit/redis/scripts.ts";
import { SharedStreamPlaces } from "../../../src/rate-limit/redis/stream-places.ts";
import { until } from "../../support/deadline.ts";
import { hasRedis, RedisServer } from "../../support/redis-server.ts";
import { freshKey, TestLimits } from "./shared-limits.ts";

/** The most that a key may have in these tests. */
const most = 32;

/** A killed server's places are free again after this time, in milliseconds. */
const longestLeaseMs = 30_000;

describe.runIf(hasRedis)("the places for streams (skipped without redis-server)", () => {
  let redis: RedisServer;
  const open: TestLimits[] = [];

  beforeAll(async () => {
    redis = await RedisServer.start();
  });

  afterEach(async () => {
    await Promise.all(open.splice(0).map((limits) => limits.close()));
  });

  afterAll(() => redis?.stop());

  async function openLimits(count: number): Promise<[TestLimits, TestLimits]> {
    open.push(...(await Promise.all(Array.from({ length: count }, () => TestLimits.open(redis.url)))));
    return open as [TestLimits, TestLimits];
  }

  const take = ({ limits }: TestLimits, keyId: string) => limits.places.take(keyId, most);

  async function takeMany(server: TestLimits, keyId: string, count: number): Promise<StreamPlace[]> {
    const places = await Promise.all(Array.from({ length: count }, () => take(server, keyId)));
    return places.filter((place) => place !== undefined);
  }

  it("are counted over all servers, however many are taken at a time", async () => {
    const servers = await openLimits(3);
    const { id } = freshKey(1);
    const taken = await Promise.all(servers.map((server) => takeMany(server, id, 20)));
    expect(taken.flat()).toHaveLength(most);
    expect(await takeMany(servers[0], freshKey(1).id, 40)).toHaveLength(most);
  });

  it("are free for other servers within two seconds when a stream has left, and not twice", async () => {
    const [one, other] = await openLimits(2);
    const { id } = freshKey(1);
    const places = await takeMany(one, id, most);
    expect(await take(other, id)).toBeUndefined();
    places[0]?.leave();
    places[0]?.leave();
    await until(async () => (await take(other, id)) !== undefined, 2_000);
    expect(await take(other, id)).toBeUndefined();
  });

  it("stay taken after Valkey's clock was set back by a little", async () => {
    const [server] = await openLimits(1);
    const { id } = freshKey(1);
    await takeMany(server, id, 1);
    const name = `petstore:{${id}}:streams`;
    const ahead = Date.now() + 20_000 + 5_000;
    for (let index = 1; index < most; index += 1) {
      await redis.client.zadd(name, ahead, `renewed-before-${index}`);
    }
    expect(await take(server, id)).toBeUndefined();
  });

  it("are those of open streams alone soon after Valkey's clock was set back by far", async () => {
    const [server] = await openLimits(1);
    const { id } = freshKey(1);
    await takeMany(server, id, 2);
    const name = `petstore:{${id}}:streams`;
    const gone = Array.from({ length: most - 2 }, (_, index) => `gone-${index}`);
    const inAnHour = Date.now() + 3_600_000;
    for (const stream of [...(await redis.client.zrange(name, "0", "-1")), ...gone]) {
      await redis.client.zadd(name, inAnHour, stream);
    }
    expect(await take(server, id)).toBeDefined();
    await until(async () => (await redis.client.zcard(name)) === 3, 10_000);
    const [, latest] = await redis.client.zrange(name, "-1", "-1", "WITHSCORES");
    expect(Number(latest)).toBeLessThanOrEqual(Date.now() + longestLeaseMs);
    expect(await redis.client.pttl(name)).toBeLessThanOrEqual(longestLeaseMs);
  });

  it("of a server that was killed are free within 30 seconds", async () => {
    const [killed, other] = await openLimits(2);
    const { id } = freshKey(1);
    await takeMany(killed, id, most);
    // It leaves nothing, as a killed one.
    await killed.close();
    open.shift();
    const name = `petstore:{${id}}:streams`;
    expect(await redis.client.pttl(name)).toBeLessThanOrEqual(longestLeaseMs);
    const scores = (await redis.client.zrange(name, "0", "-1", "WITHSCORES")).filter((_, index) => index % 2 === 1);
    expect(scores).toHaveLength(most);
    const [seconds] = await redis.client.time();
    for (const score of scores) {
      expect(Number(score)).toBeLessThanOrEqual(Number(seconds) * 1_000 + 1_000 + longestLeaseMs);
    }
    expect(await take(other, id)).toBeUndefined();
    // The same moment, as if the leases were over by then.
    const names = (await redis.client.zrange(name, "0", "-1")).flatMap((member) => [
      Number(seconds) * 1_000 - 1,
      member,
    ]);
    await redis.client.zadd(name, ...names);
    expect(await takeMany(other, id, 40)).toHaveLength(most);
  });

  it("are kept for as long as their streams are open", async () => {
    const [server] = await openLimits(1);
    const { id } = freshKey(1);
    await takeMany(server, id, 3);
    const name = `petstore:{${id}}:streams`;
    const lastScore = async () => Number((await redis.client.zrange(name, "-1", "-1", "WITHSCORES"))[1]);
    const before = await lastScore();
    await until(async () => (await lastScore()) > before, 10_000);
    expect(await redis.client.zcard(name)).toBe(3);
  });

  it("are free within two seconds of Valkey's return when they were left while it was away", async () => {
    const [one] = await openLimits(1);
    const { id } = freshKey(1);
    const places = await takeMany(one, id, most);
    const name = `petstore:{${id}}:streams`;
    redis.hang();
    await one.disconnected();
    places[0]?.leave();
    redis.resume();
    await one.connected();
    await until(async () => (await redis.client.zcard(name)) === most - 1, 2_000);
  });

  it("are free soon after Valkey's return where it hung when they were taken, and the server then refuses", async () => {
    const server = await TestLimits.open(redis.url, { fallback: "refuse" });
    open.push(server);
    const { id } = freshKey(1);
    // From here on, Valkey knows the script.
    await take(server, freshKey(1).id);
    redis.hang();
    await expect(server.limits.places.take(id, 1)).rejects.toMatchObject({ code: "UNAVAILABLE" });
    redis.resume();
    await server.connected();
    await until(async () => (await server.limits.places.take(id, 1)) !== undefined, 2_000);
  });

  it("are told again to a Valkey that was restarted empty, and granted while it is away", async () => {
    const own = await RedisServer.start();
    const limits = await TestLimits.open(own.url);
    open.push(limits);
    const { id } = freshKey(1);
    await takeMany(limits, id, 2);
    await own.stop();
    expect(await take(limits, id)).toBeDefined();
    const again = await RedisServer.start({ port: own.port });
    await until(async () => (await again.client.zcard(`petstore:{${id}}:streams`)) === 3, 5_000);
    await again.stop();
  });
});

/** A Valkey that keeps what it is asked, while it is there. */
function createValkey() {
  const scripts = createScripts();
  const calls: ScriptCall[] = [];
  let connected = () => {};
  const link = {
    isConnected: true,
    onConnected(listener: () => void) {
      connected = listener;
    },
    async run(asked: readonly ScriptCall[]) {
      if (!link.isConnected) {
        throw new Error("Valkey is away");
      }
      calls.push(...asked);
      return [1];
    },
  };
  const places = new SharedStreamPlaces({ link, scripts } as unknown as Counting);
  return {
    scripts,
    calls,
    link,
    places,
    comeBack: () => {
      link.isConnected = true;
      connected();
    },
  };
}

it("a Valkey that is back is told the places at once", async () => {
  const { scripts, calls, places, comeBack } = createValkey();
  await places.take("key_a", most);
  await places.take("key_a", most);
  const names = calls.map(({ args }) => args[0]);
  comeBack();
  places.close();
  expect(calls.slice(2)).toEqual([
    { script: scripts.keepPlaces, key: calls[0]?.key, args: [expect.any(Number), ...names] },
  ]);
});

it("a Valkey that is back is told once which places were left while it was away", async () => {
  const { scripts, calls, link, places, comeBack } = createValkey();
  const place = await places.take("key_a", most);
  const [taken] = calls;
  link.isConnected = false;
  place?.leave();
  comeBack();
  await setImmediate();
  comeBack();
  places.close();
  expect(calls.slice(1)).toEqual([{ script: scripts.leavePlace, key: taken?.key, args: [taken?.args[0]] }]);
});
