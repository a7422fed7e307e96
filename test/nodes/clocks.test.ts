import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { HoldState } from "../../gen/petstore/v1/hold_pb.ts";
import { StockLoad } from "../faults/stock/load.ts";
import { rest } from "../support/clients/protocols.ts";
import { until } from "../support/deadline.ts";
import { expectLimits, expectSuccess } from "../support/expectations.ts";
import { canHaveNodes } from "../support/left-out.ts";
import { amount } from "../support/long.ts";
import { Random } from "../support/random.ts";
import type { TestServer } from "../support/server.ts";
import { Nodes } from "./nodes.ts";

const tenMinutesMs = 600_000;

/** A server with a clock that is set off. */
const preload = pathToFileURL(join(import.meta.dirname, "..", "support", "shifted-clock.ts")).href;

describe.runIf(canHaveNodes)("three servers whose clocks are ten minutes apart", () => {
  let nodes: Nodes;
  let key: string;

  beforeAll(async () => {
    nodes = await Nodes.start({
      env: (index) => ({
        NODE_OPTIONS: `--import=${preload}`,
        TEST_CLOCK_SHIFT_MS: String((index - 1) * tenMinutesMs),
      }),
    });
    ({ key } = nodes);
  });

  afterAll(() => nodes?.stop());

  it("see one order of all that happens to the stock", { timeout: amount(90_000, 900_000) }, async () => {
    const random = new Random(Date.now());
    const load = new StockLoad(() => nodes.pick(random), key);
    await load.begin();
    await load.run(12, amount(60, 1_000));
    expect(await load.findContradiction()).toBeUndefined();
  });

  it("judge alike whether a hold is over", async () => {
    const states = (holdId: string) =>
      nodes.each(async (server) => expectSuccess(await server.call(rest, "getHold", { holdId }, { key })).hold?.state);
    for (const server of nodes.servers) {
      const wish = { petId: 6n, quantity: 1n, ttl: { seconds: 2n } };
      const { hold } = expectSuccess(await server.call(rest, "createHold", wish, { key }));
      const holdId = hold?.holdId as string;
      expect(await states(holdId)).toEqual(nodes.servers.map(() => HoldState.HELD));
      await until(async () => (await states(holdId)).every((state) => state === HoldState.EXPIRED), 4_000);
    }
  });

  it("judge alike whether a key is over, and when its minute ends", async () => {
    const expiring = await nodes.store.mintKey("--plan", "business", "--expires-in", "3s");
    const ask = async (server: TestServer) => server.call(rest, "getPet", { petId: 7n }, { key: expiring.key });
    const outcomes = await nodes.each(ask);
    expect(outcomes.map(({ failure }) => failure?.code)).toEqual(nodes.servers.map(() => undefined));
    const resets = outcomes.map(({ headers }) => expectLimits(headers).reset);
    expect(Math.max(...resets) - Math.min(...resets)).toBeLessThanOrEqual(1);
    expect(Math.abs((resets[0] ?? 0) - Date.now() / 1_000 - 60)).toBeLessThan(5);
    const codes = async () => (await nodes.each(ask)).map(({ failure }) => failure?.code);
    await until(async () => (await codes()).every((code) => code === "API_KEY_EXPIRED"), 5_000);
  });
});
