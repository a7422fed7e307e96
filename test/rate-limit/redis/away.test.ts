import { setTimeout } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { until } from "../../support/deadline.ts";
import { MemoryUsageStore } from "../../support/memory-usage-store.ts";
import { hasRedis, RedisServer } from "../../support/redis-server.ts";
import { TcpProxy } from "../../support/tcp-proxy.ts";
import { freshKey, TestLimits } from "./shared-limits.ts";

/** Refusals are due within three seconds, and Valkey is used again within five of its return. */
const awayMs = 3_000;
const returnMs = 5_000;

describe.runIf(hasRedis)("limits while Valkey is away (skipped without redis-server)", () => {
  let redis: RedisServer;
  let proxy: TcpProxy;
  const open: TestLimits[] = [];

  beforeEach(async () => {
    redis = await RedisServer.start();
    proxy = await TcpProxy.start(redis.port);
  });

  afterEach(async () => {
    redis.resume();
    await Promise.all(open.splice(0).map((limits) => limits.close()));
    proxy.close();
    await redis.stop();
  });

  async function openLimits(url: string, options: Parameters<typeof TestLimits.open>[1] = {}): Promise<TestLimits> {
    const limits = await TestLimits.open(url, options);
    open.push(limits);
    return limits;
  }

  /** Starts another server at the same port, as after a restart without its data. */
  async function restart(): Promise<void> {
    const { port } = redis;
    await redis.stop();
    redis = await RedisServer.start({ port });
  }

  async function elapsedMs(work: () => Promise<unknown>): Promise<number> {
    const startedAt = performance.now();
    await work();
    return performance.now() - startedAt;
  }

  const faults: [name: string, fault: () => Promise<void> | void][] = [
    ["is killed", () => redis.stop()],
    ["hangs", () => redis.hang()],
  ];

  describe.each(faults)("that %s", (_name, fault) => {
    it("go on locally from what the server last knew of all servers", async () => {
      const one = await openLimits(redis.url);
      const other = await openLimits(redis.url);
      const key = freshKey(60);
      await other.burst(key, 25);
      await one.burst(key, 15);
      await fault();
      expect(await one.burst(key, 30)).toEqual({ admitted: 20, refused: 10, banned: 0 });
      // The other one saw 25.
      expect((await other.burst(key, 60)).admitted).toBe(35);
      // Neither the description of limits nor a stream's place is a decision on a request.
      await one.limits.keys.describe(key);
      one.limits.keys.describeNow(key);
      await one.limits.anonymous.describe("192.0.2.1");
      await one.limits.places.take(key.id, 1);
      expect(one.limits.localDecisions).toBe(30);
      await one.limits.anonymous.decide("192.0.2.1");
      one.limits.anonymous.decideNow("192.0.2.1");
      expect(one.limits.localDecisions).toBe(32);
      expect(one.told.at(-1)).toMatch(/^disconnected: /);
    });

    it("keep a ban that the server saw, until it is unbanned", async () => {
      const limits = await openLimits(redis.url);
      const key = freshKey(1);
      expect((await limits.burst(key, 21)).banned).toBe(1);
      await fault();
      expect((await limits.decide(key)).outcome).toBe("banned");
      expect((await limits.decide({ ...key, unbans: 1 })).outcome).toBe("refused");
    });

    it("refuse within three seconds where they are to", async () => {
      const limits = await openLimits(redis.url, { fallback: "refuse" });
      const key = freshKey(60);
      await limits.burst(key, 1);
      await fault();
      const refusing = async () => {
        const unavailable = expect.objectContaining({ code: "UNAVAILABLE" });
        await expect(limits.decide(key)).rejects.toEqual(unavailable);
        await expect(limits.limits.keys.describe(key)).rejects.toEqual(unavailable);
        await expect(limits.limits.anonymous.decide("192.0.2.1")).rejects.toEqual(unavailable);
        await expect(limits.limits.places.take(key.id, 32)).rejects.toEqual(unavailable);
      };
      expect(await elapsedMs(refusing)).toBeLessThan(awayMs);
      expect(await elapsedMs(refusing)).toBeLessThan(200);
    });

    it("are told to be away without any request", async () => {
      const limits = await openLimits(redis.url);
      await fault();
      await limits.disconnected();
    });
  });

  describe.each<[name: string, spoil: () => Promise<unknown>, mend: () => Promise<unknown>]>([
    [
      "has no memory left",
      () => redis.client.config("SET", "maxmemory", "1"),
      () => redis.client.config("SET", "maxmemory", "0"),
    ],
    ["is made a replica", () => redis.client.replicaof("127.0.0.1", "1"), () => redis.client.replicaof("NO", "ONE")],
  ])("where it answers, but %s,", (_name, spoil, mend) => {
    it("the server counts by itself until that is over", async () => {
      const limits = await openLimits(redis.url);
      const key = freshKey(60);
      await limits.burst(key, 10);
      await spoil();
      await limits.burst(key, 10);
      expect(limits.limits.isConnected).toBe(false);
      await setTimeout(1_200);
      await limits.burst(key, 10);
      expect(limits.told.filter((line) => line.startsWith("connected"))).toHaveLength(1);
      expect(limits.told.length).toBeLessThan(6);
      await mend();
      expect(await elapsedMs(() => limits.connected())).toBeLessThan(returnMs);
      expect((await limits.burst(key, 60)).admitted).toBe(50);
    });
  });

  it("where one key cannot be counted, a new connection is opened twice a second at most", async () => {
    const key = freshKey(60);
    await redis.client.call("ACL", "SETUSER", "limits", "on", ">secret", "+@all", "~petstore:probe*");
    const limits = await openLimits(redis.url.replace("//", "//limits:secret@"));
    const endMs = performance.now() + 1_200;
    while (performance.now() < endMs) {
      await limits.burst(key, 1);
      await setTimeout(5);
    }
    const connections = limits.told.filter((line) => line.startsWith("connected")).length;
    expect(connections).toBeGreaterThan(1);
    expect(connections).toBeLessThan(5);
  });

  const damages: [what: string, damage: (name: string) => Promise<unknown>][] = [
    ["of another type", (name) => redis.client.rpush(name, "1")],
    ["of another text", (name) => redis.client.set(name, "damaged")],
    ["of more numbers", (name) => redis.client.set(name, "1 1 1 1 1 1 1 1 1 1")],
    ["of a ban that does not exist", (name) => redis.client.set(name, `0 0 0 0 0 0 99 ${Date.now() + 60_000} 0`)],
  ];

  it.each(damages)("a value %s is replaced, and nothing else is concerned", async (_what, write) => {
    const damage = async (name: string) => {
      await redis.client.del(name);
      await write(name);
    };
    const limits = await openLimits(redis.url, { fallback: "refuse" });
    const key = freshKey(60);
    await damage(`petstore:{${key.id}}:usage`);
    expect((await limits.limits.keys.describe(key)).minute.remaining).toBe(60);
    expect(await limits.burst(key, 61)).toEqual({ admitted: 60, refused: 1, banned: 0 });
    await damage("petstore:{192.0.2.1}:anonymous");
    for (const remaining of [299, 298]) {
      expect((await limits.limits.anonymous.decide("192.0.2.1")).shown.remaining).toBe(remaining);
    }
    const name = `petstore:{${key.id}}:streams`;
    await damage(name);
    const place = await limits.limits.places.take(key.id, 1);
    expect(place).toBeDefined();
    expect(await limits.limits.places.take(key.id, 1)).toBeUndefined();
    await damage(name);
    place?.leave();
    await until(async () => (await redis.client.exists(name)) === 0, 2_000);
    expect(limits.told).toEqual([expect.stringMatching(/^connected/)]);
  });

  it("count strangers on from what the server last knew", async () => {
    const limits = await openLimits(redis.url);
    const ask = async () =>
      limits.limits.anonymous.decideNow("192.0.2.1") ?? limits.limits.anonymous.decide("192.0.2.1");
    await Promise.all(Array.from({ length: 290 }, ask));
    await redis.stop();
    const decisions = await Promise.all(Array.from({ length: 20 }, ask));
    expect(decisions.filter(({ outcome }) => outcome === "admitted")).toHaveLength(10);
  });

  it("go on in Valkey after a hang, with what was counted there", async () => {
    const limits = await openLimits(redis.url);
    const key = freshKey(60);
    await limits.burst(key, 10);
    redis.hang();
    await limits.burst(key, 5);
    redis.resume();
    expect(await elapsedMs(() => limits.connected())).toBeLessThan(returnMs);
    const { admitted } = await limits.burst(key, 60);
    // What was asked during the hang may have been counted, too.
    expect(admitted).toBeLessThanOrEqual(50);
    expect(admitted).toBeGreaterThanOrEqual(45);
  });

  it("need nobody's help when Valkey is restarted empty: it is given the scripts again", async () => {
    const [one, other] = [await openLimits(redis.url), await openLimits(redis.url)];
    const key = freshKey(60);
    await one.burst(key, 30);
    await restart();
    expect(await elapsedMs(() => Promise.all([one.connected(), other.connected()]))).toBeLessThan(returnMs);
    const bursts = await Promise.all([one.burst(key, 40), other.burst(key, 40)]);
    expect(bursts.reduce((sum, { admitted }) => sum + admitted, 0)).toBe(60);
    await redis.client.script("FLUSH");
    expect((await one.decide(key)).outcome).toBe("refused");
    expect(one.limits.isConnected).toBe(true);
  });

  it("count each request once when answers come late, but in time", async () => {
    const limits = await openLimits(proxy.url);
    const key = freshKey(60);
    proxy.delayMs = 300;
    expect(await limits.burst(key, 61)).toEqual({ admitted: 60, refused: 1, banned: 0 });
    expect(limits.limits.localDecisions).toBe(0);
  });

  it("go on locally when answers come too late, and in Valkey when they no longer do", async () => {
    const limits = await openLimits(proxy.url);
    const key = freshKey(60);
    await limits.burst(key, 40);
    proxy.delayMs = 4_000;
    expect((await limits.burst(key, 30)).admitted).toBe(20);
    proxy.delayMs = 0;
    await limits.connected();
  });

  it("connect again when their connections are cut", async () => {
    const limits = await openLimits(proxy.url);
    const key = freshKey(60);
    await limits.burst(key, 10);
    proxy.cut();
    await until(async () => limits.told.includes("disconnected: the connection was lost"), 2_000);
    expect(await elapsedMs(() => limits.connected())).toBeLessThan(returnMs);
    expect((await limits.decide(key)).shown.remaining).toBe(49);
  });

  it("do not take a connection for good that is cut while it is opened", async () => {
    proxy.rewrite = (answer) => {
      // The answer to the last question, whether the server keeps anything on disk.
      if (answer.includes("$4\r\nsave\r\n")) {
        proxy.rewrite = (again) => again;
        proxy.cut();
      }
      return answer;
    };
    const limits = await openLimits(proxy.url);
    expect(limits.told).toEqual(["disconnected: the connection was lost"]);
    await limits.connected();
  });

  it("start without Valkey, and count by what the store has", async () => {
    await redis.stop();
    const store = new MemoryUsageStore();
    const key = freshKey(60);
    const minute = { openedAtMs: Date.now(), count: 50 };
    store.saved.set(key.id, { minute, day: minute, refusals: undefined, ban: undefined, unbans: 0 });
    const limits = await openLimits(redis.url, { store });
    expect(limits.told).toEqual([expect.stringMatching(/^disconnected: .*ECONNREFUSED/)]);
    expect((await limits.burst(key, 20)).admitted).toBe(10);
    await restart();
    await limits.connected();
    expect((await limits.burst(key, 61)).admitted).toBe(60);
  });

  it("refuse until Valkey is there, where they are to", async () => {
    await redis.stop();
    const limits = await openLimits(redis.url, { fallback: "refuse" });
    const key = freshKey(60);
    await expect(limits.decide(key)).rejects.toMatchObject({ code: "UNAVAILABLE" });
    await restart();
    await limits.connected();
    expect((await limits.decide(key)).outcome).toBe("admitted");
  });

  it("take no Redis that is older than 7", async () => {
    proxy.rewrite = (answer) => answer.replace(/redis_version:\d+/, "redis_version:6");
    await expect(openLimits(proxy.url)).rejects.toThrow(
      /^limits need Redis 7 or newer, or Valkey; the server is Redis 6\./,
    );
  });

  it.each([
    ["that the server does not have", "limits", "9999", /^limits cannot use database 9999 of the server: ERR DB index/],
    ["that their user may not select", "clerk", "1", /^limits cannot use database 1 of the server: NOPERM/],
  ])("take no database %s", async (_why, user, database, message) => {
    await redis.client.call("ACL", "SETUSER", "limits", "on", ">secret", "~*", "+@all");
    await redis.client.call("ACL", "SETUSER", "clerk", "on", ">secret", "~*", "+@all", "-select");
    const url = `${redis.url.replace("//", `//${user}:secret@`)}/${database}`;
    await expect(openLimits(url)).rejects.toThrow(message);
  });

  it("tell that Valkey keeps nothing on disk, or drops counts", async () => {
    const limits = await openLimits(redis.url);
    expect(limits.told).toEqual([expect.stringMatching(/^connected; it keeps nothing on disk/)]);
    await redis.client.config("SET", "appendonly", "yes", "maxmemory-policy", "allkeys-lru");
    const other = await openLimits(redis.url);
    expect(other.told).toEqual([expect.stringMatching(/^connected; it may drop counts .* allkeys-lru/)]);
  });

  it("count a wrong password as away, and never show it", async () => {
    await redis.client.config("SET", "requirepass", "open sesame");
    const right = await openLimits(redis.url.replace("//", "//:open%20sesame@"));
    expect(right.told[0]).toMatch(/^connected/);
    const wrong = await openLimits(redis.url.replace("//", "//:open%20barley@"));
    expect(wrong.told[0]).toMatch(/^disconnected: WRONGPASS/);
    expect(wrong.told.join()).not.toContain("barley");
  });
});
