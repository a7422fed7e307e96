import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { StockLoad } from "../faults/stock/load.ts";
import { rest } from "../support/clients/protocols.ts";
import { until } from "../support/deadline.ts";
import { canHaveNodes } from "../support/left-out.ts";
import { Random } from "../support/random.ts";
import type { TestServer } from "../support/server.ts";
import { isWell, Nodes, promisedMs } from "./nodes.ts";

describe.runIf(canHaveNodes)("one of three servers that is cut off from the database", () => {
  let nodes: Nodes;

  beforeAll(async () => {
    nodes = await Nodes.start({ isProxied: true });
  });

  afterAll(() => nodes?.stop());

  it("takes no key after 5 s while the others go on, and is well within 5 s when it is back", {
    timeout: 60_000,
  }, async () => {
    const { key } = nodes;
    const { id, key: revoked } = await nodes.store.mintKey();
    const [cutOff, ...others] = nodes.servers as [TestServer, ...TestServer[]];
    const [proxy] = nodes.proxies;
    const codeOf = async (secret: string) => {
      const outcome = await cutOff.call(rest, "getPet", { petId: 7n }, { key: secret });
      return { code: outcome.failure?.code, hasLimits: outcome.headers.has("x-ratelimit-limit") };
    };
    expect(await Promise.all([codeOf(key), codeOf(revoked)])).toEqual(
      Array(2).fill({ code: undefined, hasLimits: true }),
    );

    const random = new Random(Date.now());
    let targets: readonly TestServer[] = nodes.servers;
    const load = new StockLoad(() => random.pick(targets), key);
    await load.begin();
    const running = load.run(8);
    await until(async () => load.calls.length > 100, 20_000);
    proxy?.freeze();
    const frozenAtMs = performance.now();
    targets = others;
    await nodes.store.run("keys", "revoke", id);

    await until(async () => (await codeOf(key)).code === "UNAVAILABLE", promisedMs(8_000));
    const silent = { code: "UNAVAILABLE", hasLimits: false };
    await until(async () => performance.now() > frozenAtMs + 5_500, 8_000);
    const askedAtMs = performance.now();
    expect(await Promise.all([codeOf(key), codeOf(revoked)])).toEqual([silent, silent]);
    expect(performance.now() - askedAtMs).toBeLessThan(promisedMs(2_000));
    // What it had locked is free by now.
    const before = load.calls.length;
    await until(async () => load.calls.length > before + 100, 20_000);

    proxy?.thaw();
    await until(() => isWell(cutOff, key), promisedMs(5_000));
    expect((await codeOf(revoked)).code).toBe("API_KEY_REVOKED");
    targets = nodes.servers;
    const after = load.calls.length;
    await until(async () => load.calls.length > after + 100, 20_000);
    load.stop();
    await running;
    expect(await load.findContradiction()).toBeUndefined();
  });
});
