import { setTimeout } from "node:timers/promises";
import { inspect } from "node:util";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import type { Key } from "../../../src/domain/key.ts";
import { until } from "../../support/deadline.ts";
import { freePort, hasRedis, RedisServer } from "../../support/redis-server.ts";
import { documented } from "./documented-rights.ts";
import { freshKey, TestLimits } from "./shared-limits.ts";

describe.runIf(hasRedis)("limits in a cluster (skipped without redis-server)", () => {
  const nodes: RedisServer[] = [];
  const busPorts: number[] = [];
  const servers: TestLimits[] = [];

  beforeAll(async () => {
    nodes.push(await startNode(), await startNode(), await startNode());
    const [first, second, third] = nodes as [RedisServer, RedisServer, RedisServer];
    await first.client.cluster("ADDSLOTSRANGE", 0, 5_460);
    await second.client.cluster("ADDSLOTSRANGE", 5_461, 10_922);
    await third.client.cluster("ADDSLOTSRANGE", 10_923, 16_383);
    await first.client.cluster("MEET", "127.0.0.1", second.port, busPorts[1] as number);
    await first.client.cluster("MEET", "127.0.0.1", third.port, busPorts[2] as number);
    await allMet();
    const url = `${first.url}?cluster`;
    servers.push(await TestLimits.open(url), await TestLimits.open(url));
  });

  afterAll(async () => {
    await Promise.all(servers.map((server) => server.close()));
    await Promise.all(nodes.map((node) => node.stop()));
  });

  /** The nodes talk to one another at a port of their own, which by default is ten thousand above. */
  async function startNode(): Promise<RedisServer> {
    const busPort = await freePort();
    busPorts.push(busPort);
    return RedisServer.start({ args: ["--cluster-enabled", "yes", "--cluster-port", String(busPort)] });
  }

  /** Resolves when each node knows all others, and serves. */
  async function allMet(): Promise<void> {
    const wanted = ["cluster_state:ok", "cluster_slots_assigned:16384", `cluster_known_nodes:${nodes.length}`];
    await until(async () => {
      const infos = await Promise.all(nodes.map(({ client }) => client.cluster("INFO")));
      return infos.every((info) => wanted.every((line) => info.includes(line)));
    }, 20_000);
  }

  /** Has nobody serve the last slots. Returns what has the third node serve them again. */
  async function dropSlots(): Promise<() => Promise<void>> {
    const slots = [16_000, 16_383] as const;
    // Another node may have heard already that they are gone.
    await Promise.all(nodes.map(({ client }) => client.cluster("DELSLOTSRANGE", ...slots).catch(() => {})));
    return async () => {
      await nodes[2]?.client.cluster("ADDSLOTSRANGE", ...slots);
      await allMet();
    };
  }

  it("admit exactly what the plan allows, whichever node counts the key", async () => {
    const keys = Array.from({ length: 40 }, () => freshKey(30));
    for (const key of keys) {
      const bursts = await Promise.all(servers.flatMap((server) => [server.burst(key, 10), server.burst(key, 9)]));
      expect(bursts.reduce((sum, { admitted }) => sum + admitted, 0)).toBe(30);
    }
    const perNode = await Promise.all(nodes.map(({ client }) => client.keys("petstore:{*}:usage")));
    expect(perNode.every(({ length }) => length > 0)).toBe(true);
    expect(perNode.flat()).toHaveLength(40);
  });

  it("have all that belongs to a key in one slot", async () => {
    const key = freshKey(30);
    const server = servers[0] as TestLimits;
    await server.decide(key);
    const place = await server.limits.places.take(key.id, 32);
    const names = await Promise.all(nodes.map(({ client }) => client.keys(`petstore:{${key.id}}:*`)));
    expect(names.flat().toSorted()).toEqual([`petstore:{${key.id}}:streams`, `petstore:{${key.id}}:usage`]);
    const { client } = nodes[0] as RedisServer;
    const slots = await Promise.all(names.flat().map((name) => client.cluster("KEYSLOT", name)));
    expect(new Set(slots).size).toBe(1);
    place?.leave();
  });

  it("are connected at the first attempt, whichever nodes are asked first", async () => {
    const opened = await Promise.all(Array.from({ length: 20 }, () => TestLimits.open(`${nodes[0]?.url}?cluster`)));
    expect(opened.flatMap(({ told }) => told).filter((line) => !line.startsWith("connected"))).toEqual([]);
    await Promise.all(opened.map((server) => server.close()));
  });

  it("are away while nobody serves some of the slots, and tell so", async () => {
    const restore = await dropSlots();
    const server = await TestLimits.open(`${nodes[2]?.url}?cluster`);
    onTestFinished(() => server.close());
    await restore();
    expect(server.told[0]).toBe("disconnected: the cluster does not serve all slots");
    await server.connected();
  });

  it("are away while nobody serves some of the slots, also where the others are served", async () => {
    const requireAll = (wanted: "yes" | "no") =>
      Promise.all(nodes.map(({ client }) => client.config("SET", "cluster-require-full-coverage", wanted)));
    await requireAll("no");
    const restore = await dropSlots();
    const server = await TestLimits.open(`${nodes[2]?.url}?cluster`);
    onTestFinished(() => server.close());
    await setTimeout(1_500);
    expect(new Set(server.told)).toEqual(new Set(["disconnected: the cluster does not serve all slots"]));
    await requireAll("yes");
    await restore();
    await server.connected();
  });

  it("are told at once that the cluster is down", async () => {
    const server = await TestLimits.open(`${nodes[0]?.url}?cluster`);
    onTestFinished(() => server.close());
    const restore = await dropSlots();
    let startMs = 0;
    await until(async () => {
      startMs = performance.now();
      await server.burst(freshKey(30), 1);
      return server.told.length > 1;
    }, 5_000);
    const tookMs = performance.now() - startMs;
    await restore();
    expect(server.told[1]).toMatch(/^disconnected: CLUSTERDOWN/);
    expect(tookMs).toBeLessThan(1_000);
  });

  it.each([0, 1, 2])("are told without any request that node %i hangs", async (index) => {
    const server = await TestLimits.open(`${nodes[0]?.url}?cluster`);
    onTestFinished(() => server.close());
    nodes[index]?.hang();
    await server.disconnected();
    nodes[index]?.resume();
    await server.connected();
  });

  it.each([0, 1, 2])("are away until the memory of node %i is no longer full", async (index) => {
    const { client } = nodes[index] as RedisServer;
    const server = await TestLimits.open(`${nodes[0]?.url}?cluster`);
    onTestFinished(() => server.close());
    await client.config("SET", "maxmemory", "1");
    const endMs = performance.now() + 1_500;
    while (performance.now() < endMs) {
      await server.burst(freshKey(30), 1);
      await setTimeout(5);
    }
    expect(server.told.filter((line) => line.startsWith("connected"))).toHaveLength(1);
    expect(server.told.at(-1)).toMatch(/^disconnected: OOM/);
    await client.config("SET", "maxmemory", "0");
    await server.connected();
  });

  it("follow a key to a node that has joined since", async () => {
    const joined = await startNode();
    nodes.push(joined);
    await nodes[0]?.client.cluster("MEET", "127.0.0.1", joined.port, busPorts[3] as number);
    await allMet();
    const key = freshKey(30);
    const slot = await joined.client.cluster("KEYSLOT", `petstore:{${key.id}}:usage`);
    const id = await joined.client.cluster("MYID");
    // Otherwise the older claim of another node, which may be under way, would win.
    await joined.client.cluster("BUMPEPOCH");
    for (const { client } of nodes.toReversed()) {
      await client.cluster("SETSLOT", slot, "NODE", id);
    }
    const bursts = await Promise.all(servers.flatMap((server) => [server.burst(key, 10), server.burst(key, 9)]));
    expect(bursts.reduce((sum, { admitted }) => sum + admitted, 0)).toBe(30);
    expect(servers.map(({ limits }) => limits.localDecisions)).toEqual([0, 0]);
    expect(await joined.client.keys("petstore:{*}:usage")).toEqual([`petstore:{${key.id}}:usage`]);
  });

  it("give a restarted node the scripts again", async () => {
    await Promise.all(nodes.map(({ client }) => client.script("FLUSH")));
    const keys = Array.from({ length: 40 }, () => freshKey(30));
    const server = servers[0] as TestLimits;
    const decisions = await Promise.all(keys.map((key) => server.decide(key)));
    expect(decisions.map(({ outcome }) => outcome)).toEqual(keys.map(() => "admitted"));
    expect(server.limits.localDecisions).toBe(0);
  });

  describe("while a slot moves to another node", () => {
    /** Begins to move the slot of a key that nobody has used. */
    async function moveSlot() {
      const [source, target] = [nodes[0] as RedisServer, nodes.at(-1) as RedisServer];
      let key: Key;
      let slot: number;
      do {
        key = freshKey(30);
        slot = await source.client.cluster("KEYSLOT", `petstore:{${key.id}}:usage`);
      } while (slot > 5_460);
      const [sourceId, targetId] = [await source.client.cluster("MYID"), await target.client.cluster("MYID")];
      await target.client.cluster("SETSLOT", slot, "IMPORTING", sourceId);
      await source.client.cluster("SETSLOT", slot, "MIGRATING", targetId);
      onTestFinished(() => void source.client.cluster("SETSLOT", slot, "STABLE"));
      return { key, target };
    }

    async function openAs(rights: readonly string[], reasons: unknown[] = []): Promise<TestLimits> {
      for (const { client } of nodes) {
        const user = ["petstore", "reset", "on", ">secret", `~${documented.keys}`];
        await client.call("ACL", "SETUSER", ...user, ...rights);
      }
      const server = await TestLimits.open(`${nodes[0]?.url.replace("//", "//petstore:secret@")}?cluster`, { reasons });
      onTestFinished(() => server.close());
      expect(server.told).toEqual([expect.stringMatching(/^connected/)]);
      return server;
    }

    const { rights, clusterRights } = documented;
    const exactly = { admitted: 30, refused: 1, banned: 0 };

    it("count its keys there, by the documented rights", async () => {
      const server = await openAs([...rights, ...clusterRights]);
      const { key, target } = await moveSlot();
      expect(await server.burst(key, 31)).toEqual(exactly);
      expect(server.limits.localDecisions).toBe(0);
      expect(await target.client.keys("petstore:{*}:usage")).toContain(`petstore:{${key.id}}:usage`);
    });

    it("go on locally where the user may not ask there", async () => {
      const server = await openAs([...rights, "+cluster"]);
      const { key } = await moveSlot();
      expect(await server.burst(key, 31)).toEqual(exactly);
      expect(server.limits.localDecisions).toBe(31);
    });

    it("keep the password from the reason why a node that has joined refuses it", async () => {
      const reasons: unknown[] = [];
      const server = await openAs([...rights, ...clusterRights], reasons);
      const { client } = nodes.at(-1) as RedisServer;
      await client.call("ACL", "DELUSER", "petstore");
      await server.disconnected();
      expect(reasons.length).toBeGreaterThan(0);
      expect(inspect(reasons, { depth: 9, showHidden: true })).not.toContain("secret");
    });

    it("go on locally where that node is gone", async () => {
      const server = await openAs([...rights, ...clusterRights]);
      const { key, target } = await moveSlot();
      await target.stop();
      expect(await server.burst(key, 31)).toEqual(exactly);
      expect(server.limits.localDecisions).toBe(31);
    });
  });
});
