import { performance } from "node:perf_hooks";
import { afterAll, describe, expect, it } from "vitest";
import { until } from "../../support/deadline.ts";
import { importFixture } from "../../support/fixture.ts";
import { Follower } from "../../support/follower.ts";
import { amount } from "../../support/long.ts";
import { Random } from "../../support/random.ts";
import { report } from "../../support/report.ts";
import { serve, type TestServer, TestStore } from "../../support/server.ts";
import { type WatchProtocol, watchProtocols } from "../../support/watch.ts";
import { FaultyDisk, hasFaultyDisk } from "../faulty-disk.ts";
import { StockLoad } from "./load.ts";

const clients = 16;
const rounds = amount(10, 200);

/** How many calls are answered before a server is killed, at most. */
const mostCalls = 200;

describe("kill -9 while stock is sold", () => {
  const store = new TestStore();
  // A slow disk leaves time for a kill between the commit and its answer.
  const disk = hasFaultyDisk ? new FaultyDisk(store) : undefined;
  let server: TestServer;

  afterAll(async () => {
    await server?.stop();
    disk?.remove();
  });

  /** On a disk that is slow, every other time. */
  async function start(round: number): Promise<TestServer> {
    disk?.heal();
    const started = await serve(store, { env: disk?.env ?? {} });
    if (round % 2 === 1) {
      disk?.break({ on: ["writes", "syncs"], delayMs: 10 });
    }
    return started;
  }

  it(`does every call exactly once, sent again with its key, and tells each change once: ${rounds} kills over`, {
    timeout: amount(180_000, 3_600_000),
  }, async () => {
    const beganMs = performance.now();
    await store.prepare();
    await importFixture(store.db);
    server = await start(0);
    const { key } = await store.mintQuota(1_000_000_000, 1_000_000_000);
    const load = new StockLoad(() => server, key);
    await load.begin();
    const followers = Array.from({ length: clients }, (_, index) => {
      const protocol = watchProtocols[index % watchProtocols.length] as WatchProtocol;
      return new Follower(protocol, () => server, key);
    });
    const running = load.run(clients);
    const random = new Random(Date.now());
    for (let round = 1; round <= rounds; round += 1) {
      const enough = load.calls.length + 1 + random.below(mostCalls);
      await until(async () => load.calls.length >= enough, 60_000);
      expect(await server.end("SIGKILL")).toBe("SIGKILL");
      const killed = server;
      server = await start(round);
      // Calls in vain have opened connections again.
      killed.closeClients();
    }
    load.stop();
    await running;
    disk?.heal();
    expect(await load.findContradiction()).toBeUndefined();
    const changes = (await load.readHistory()).length;
    await until(async () => followers.every(({ newest }) => newest >= changes), 30_000);
    await Promise.all(followers.map((follower) => follower.stop()));
    expect(followers.flatMap(({ faults }) => faults)).toEqual([]);
    expect(await store.run("check")).toContain("sound");

    const retried = load.calls.filter(({ attempts }) => attempts > 1);
    expect(retried.length).toBeGreaterThan(rounds);
    report("kill -9 while stock is sold", {
      kills: rounds,
      calls: load.calls.length,
      changes,
      connectionsOfFollowers: followers.reduce((sum, { connections }) => sum + connections, 0),
      retried: retried.length,
      doneBefore: retried.filter(({ isReplayed }) => isReplayed).length,
      seconds: Math.round((performance.now() - beganMs) / 1_000),
    });
  });
});
