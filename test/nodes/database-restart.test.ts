import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { StockLoad } from "../faults/stock/load.ts";
import { until } from "../support/deadline.ts";
import { canHaveNodes } from "../support/left-out.ts";
import { amount } from "../support/long.ts";
import { type Cluster, startCluster } from "../support/postgres/cluster.ts";
import { Random } from "../support/random.ts";
import { report } from "../support/report.ts";
import { isWell, Nodes, promisedMs } from "./nodes.ts";

const restarts = amount(3, 20);

describe.runIf(canHaveNodes)("a PostgreSQL server that is restarted at once under load", () => {
  let cluster: Cluster;
  let nodes: Nodes;

  beforeAll(async () => {
    cluster = await startCluster();
    nodes = await Nodes.start({ postgresPort: cluster.port });
  });

  afterAll(async () => {
    await nodes?.stop();
    await cluster?.remove();
  });

  it(`leaves three servers with one order of all that was acknowledged, and well within 5 s, ${restarts} times over`, {
    timeout: amount(90_000, 600_000),
  }, async () => {
    const { key } = nodes;
    const random = new Random(Date.now());
    const load = new StockLoad(() => nodes.pick(random), key);
    await load.begin();
    const running = load.run(8);
    let longestMs = 0;
    for (let restart = 0; restart < restarts; restart += 1) {
      const enough = load.calls.length + 100 + random.below(200);
      await until(async () => load.calls.length >= enough, 30_000);
      await cluster.crash();
      const backAtMs = performance.now();
      await nodes.each((server) => until(() => isWell(server, key), promisedMs(5_000)));
      const readiness = ({ opsOrigin }: { opsOrigin: string }) => fetch(`${opsOrigin}/readyz`);
      await nodes.each((server) => until(async () => (await readiness(server)).status === 200, promisedMs(5_000)));
      longestMs = Math.max(longestMs, performance.now() - backAtMs);
    }
    load.stop();
    await running;
    expect(longestMs).toBeLessThan(promisedMs(5_000));
    expect(await load.findContradiction()).toBeUndefined();
    expect(await nodes.store.run("check")).toContain("sound");
    const retried = load.calls.filter(({ attempts }) => attempts > 1).length;
    report("PostgreSQL restarted", { restarts, calls: load.calls.length, retried, longestMs: Math.round(longestMs) });
  });
});
