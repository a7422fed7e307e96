import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { StockLoad } from "../faults/stock/load.ts";
import { until } from "../support/deadline.ts";
import { Follower } from "../support/follower.ts";
import { canHaveNodes } from "../support/left-out.ts";
import { amount } from "../support/long.ts";
import { Random } from "../support/random.ts";
import { report } from "../support/report.ts";
import { type WatchProtocol, watchProtocols } from "../support/watch.ts";
import { Nodes, promisedMs } from "./nodes.ts";

const kills = amount(5, 50);
const clients = 16;
const followers = 5;

/** How many calls are answered before a server is killed, at most. */
const mostCalls = 100;

describe.runIf(canHaveNodes)("one of three servers that is killed under load", () => {
  let nodes: Nodes;

  beforeAll(async () => {
    nodes = await Nodes.start();
  });

  afterAll(() => nodes?.stop());

  it(`loses nothing and blocks nobody: every call is done once, every change told once, ${kills} times over`, {
    timeout: amount(120_000, 1_200_000),
  }, async () => {
    const { key } = nodes;
    const random = new Random(Date.now());
    const load = new StockLoad(() => nodes.pick(random), key);
    await load.begin();
    const following = Array.from({ length: followers }, (_, index) => {
      const protocol = watchProtocols[(2 * index) % watchProtocols.length] as WatchProtocol;
      return new Follower(protocol, () => nodes.pick(random), key);
    });
    const running = load.run(clients);
    let longestMs = 0;
    for (let kill = 0; kill < kills; kill += 1) {
      const enough = load.calls.length + 1 + random.below(mostCalls);
      await until(async () => load.calls.length >= enough, 30_000);
      const [killedAtMs, before] = [performance.now(), load.calls.length];
      const restarted = nodes.restart(kill % nodes.servers.length, "SIGKILL");
      await until(async () => load.calls.length > before + clients, promisedMs(5_000));
      await restarted;
      longestMs = Math.max(longestMs, performance.now() - killedAtMs);
    }
    load.stop();
    await running;
    expect(longestMs).toBeLessThan(promisedMs(12_000));
    expect(await load.findContradiction()).toBeUndefined();
    const changes = (await load.readHistory()).length;
    await until(async () => following.every(({ newest }) => newest >= changes), 30_000);
    await Promise.all(following.map((follower) => follower.stop()));
    expect(following.flatMap(({ faults }) => faults)).toEqual([]);
    expect(await nodes.store.run("check")).toContain("sound");
    report("kill -9 of one of three servers", {
      kills,
      calls: load.calls.length,
      changes,
      longestMs: Math.round(longestMs),
    });
  });
});
