import { setTimeout } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { StockLoad } from "../faults/stock/load.ts";
import { until } from "../support/deadline.ts";
import { canHaveNodes } from "../support/left-out.ts";
import { amount } from "../support/long.ts";
import { Random } from "../support/random.ts";
import { report } from "../support/report.ts";
import { isWell, Nodes, promisedMs } from "./nodes.ts";

/** Of each server, and of each kind. */
const cuts = amount(5, 50);

/** What becomes of a commit whose connection is cut: it is made and nobody hears of it, or it never arrives. */
const kinds = ["mute", "hold"] as const;

describe.runIf(canHaveNodes)("connections to PostgreSQL that are cut in mid-commit", () => {
  let nodes: Nodes;

  beforeAll(async () => {
    nodes = await Nodes.start({ isProxied: true });
  });

  afterAll(() => nodes?.stop());

  /** Cuts all connections of a server at its next commit. */
  async function cutAtCommit(index: number, kind: (typeof kinds)[number]): Promise<void> {
    const proxy = nodes.proxies[index] as (typeof nodes.proxies)[number];
    const { promise: committing, resolve } = Promise.withResolvers<void>();
    proxy.decide = (bytes) => {
      if (!bytes.includes("COMMIT")) {
        return "pass";
      }
      resolve();
      return kind;
    };
    await committing;
    // A commit that is passed on arrives before its connection ends.
    await setTimeout(5);
    proxy.cut();
    proxy.decide = () => "pass";
  }

  it(`leave one order in which each call is done once, ${cuts} times made and ${cuts} times lost at each server`, {
    timeout: amount(90_000, 600_000),
  }, async () => {
    const { key } = nodes;
    const random = new Random(Date.now());
    const load = new StockLoad(() => nodes.pick(random), key);
    await load.begin();
    const running = load.run(12);
    await nodes.each(async (server, index) => {
      for (let cut = 0; cut < cuts; cut += 1) {
        for (const kind of kinds) {
          await cutAtCommit(index, kind);
          await until(() => isWell(server, key), promisedMs(5_000));
        }
      }
    });
    load.stop();
    await running;
    expect(await load.findContradiction()).toBeUndefined();
    expect(await nodes.store.run("check")).toContain("sound");
    const retried = load.calls.filter(({ attempts }) => attempts > 1);
    expect(retried.length).toBeGreaterThanOrEqual(cuts);
    expect(retried.some(({ isReplayed }) => isReplayed)).toBe(true);
    const figures = { cuts: cuts * kinds.length * nodes.servers.length, calls: load.calls.length };
    report("connections cut in mid-commit", { ...figures, retried: retried.length });
  });
});
