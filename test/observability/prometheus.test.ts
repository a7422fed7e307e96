import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { rest } from "../support/clients/protocols.ts";
import { until } from "../support/deadline.ts";
import { isInstalled } from "../support/installed.ts";
import { alertRules, sentExpressions } from "../support/ops-files.ts";
import { Prometheus } from "../support/prometheus.ts";
import { startServer, type TestServer } from "../support/server.ts";

const isThere = isInstalled("prometheus");
if (!isThere) {
  console.warn("There is no prometheus: the tests in which it watches a server are skipped.");
}

/** Several scrapes. */
const window = "3s";

/** What these tell of the machine may be right: its disk may be full, and other tests keep it busy. */
const ofTheMachine = ["PetstoreDiskNearlyFull", "PetstoreDiskSlow", "PetstoreCallsSlow", "PetstoreEventLoopBlocked"];

describe.runIf(isThere)("a Prometheus that watches a server", () => {
  const folder = mkdtempSync(join(tmpdir(), "petstore-prometheus-"));
  let server: TestServer;
  let prometheus: Prometheus;

  beforeAll(async () => {
    server = await startServer();
    prometheus = await Prometheus.start(folder, new URL(server.opsOrigin).host);
    await scraped(4);
  });

  afterAll(async () => {
    await prometheus?.stop();
    await server?.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  /** Resolves when there were so many more scrapes, and all rules have been evaluated since. */
  async function scraped(count: number): Promise<void> {
    const scrapes = async () => (await prometheus.query("count_over_time(up[1h])"))[0]?.value ?? 0;
    const before = await scrapes();
    await until(async () => (await scrapes()) >= before + count, 20_000);
    const at = Date.now();
    const isEvaluated = async () => (await prometheus.rules()).every((rule) => Date.parse(rule.lastEvaluation) > at);
    await until(isEvaluated, 20_000);
  }

  /** The expressions that Grafana would show nothing for. */
  async function withoutData(): Promise<readonly string[]> {
    const expressions = sentExpressions(window);
    const answers = await Promise.all(expressions.map((expression) => prometheus.query(expression)));
    return expressions.filter((_, index) => {
      const samples = answers[index] ?? [];
      return samples.length === 0 || !samples.every(({ value }) => Number.isFinite(value));
    });
  }

  const quiet = async () => (await prometheus.firing()).filter((alert) => !ofTheMachine.includes(alert));

  it("reaches it", async () => {
    expect(await prometheus.query("up")).toMatchObject([{ metric: { job: "petstore" }, value: 1 }]);
  });

  it("evaluates every alert, and none fires while the server is idle", async () => {
    const rules = await prometheus.rules();
    expect(rules.map(({ name }) => name)).toEqual(alertRules().map(({ alert }) => alert));
    expect(rules.filter(({ health }) => health !== "ok")).toEqual([]);
    expect(await quiet()).toEqual([]);
  });

  it("has data for every panel of the dashboard while the server is idle", async () => {
    expect(await withoutData()).toEqual([]);
  });

  it("has data for every panel under load, and no alert fires for what clients get wrong", async () => {
    const { key } = await server.store.mintKey();
    const callAll = async () => {
      await server.call(rest, "updateInventory", { petId: 1n, update: { quantity: BigInt(Date.now()) } }, { key });
      await server.call(rest, "listInventory", {}, { key });
      await server.call(rest, "getPet", { petId: 404_404n }, { key });
      await server.call(rest, "listOrders", {}, { key: "psk_wrong" });
      await fetch(`${server.origin}/openapi.json`);
    };
    await callAll();
    let isOver = false;
    const over = scraped(4).finally(() => {
      isOver = true;
    });
    while (!isOver) {
      await callAll();
    }
    await over;
    expect(await withoutData()).toEqual([]);
    expect(await quiet()).toEqual([]);
    const read = async (expression: string) => (await prometheus.query(expression))[0]?.value;
    expect(await read(`sum(rate(petstore_calls_total{method="reference"}[${window}]))`)).toBeGreaterThan(0);
    expect(await read("sum(petstore_calls_failed_total)")).toBe(0);
  });

  it("fires PetstoreDown when the server has stopped", async () => {
    await server.end();
    await until(async () => (await prometheus.firing()).includes("PetstoreDown"), 20_000);
  });
});
