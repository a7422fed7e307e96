import { execFileSync, spawnSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { parse } from "yaml";
import { restProtocols } from "../support/clients/protocols.ts";
import { createFolder } from "../support/folder.ts";
import { isInstalled } from "../support/installed.ts";
import { type Metrics, readMetrics } from "../support/metrics.ts";
import { projectRoot } from "../support/petstore.ts";
import { startServer, type TestServer } from "../support/server.ts";

const alertFile = join(projectRoot, "ops/alerts.yaml");
const dashboardFile = join(projectRoot, "ops/grafana.json");

/** Prometheus's own tool, of Debian's package `prometheus`. */
const hasPromtool = isInstalled("promtool");
if (!hasPromtool) {
  console.warn("There is no promtool: the tests that have Prometheus check our metrics and rules are skipped.");
}

let server: TestServer;
let metrics: Metrics;

beforeAll(async () => {
  server = await startServer();
  const { key } = await server.store.mintKey();
  for (const protocol of restProtocols) {
    await server.call(protocol, "updateInventory", { petId: 1n, update: { quantity: 9n } }, { key });
  }
  metrics = await readMetrics(server);
});

afterAll(() => server?.stop());

function alertExpressions(): string[] {
  const { groups } = parse(readFileSync(alertFile, "utf8")) as { groups: { rules: { expr: string }[] }[] };
  return groups.flatMap(({ rules }) => rules.map(({ expr }) => expr));
}

function dashboardExpressions(): string[] {
  const { panels } = JSON.parse(readFileSync(dashboardFile, "utf8")) as { panels: { targets?: { expr: string }[] }[] };
  return panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr));
}

/** The names of metrics in an expression: what stands outside of braces, quotes and labels, and is long enough. */
function metricsOf(expression: string): string[] {
  const bare = expression.replaceAll(/\{[^}]*\}/g, "").replaceAll(/\b(by|without) \([^)]*\)/g, "");
  return bare.match(/\b(?:petstore|nodejs|process)_\w+|\bup\b/g) ?? [];
}

describe.each([
  ["an alert", alertExpressions],
  ["the dashboard", dashboardExpressions],
])("every metric that %s names is there:", (_whose, expressions) => {
  it.each(expressions())("%s", (expression) => {
    const names = metricsOf(expression);
    expect(names).not.toEqual([]);
    // Prometheus itself adds `up`.
    expect(names.filter((name) => name !== "up" && !metrics.names.has(name))).toEqual([]);
  });
});

it("the dashboard shows each of the service's own metrics", () => {
  const shown = new Set(dashboardExpressions().flatMap(metricsOf));
  const base = (name: string) => name.replace(/_(bucket|sum|count)$/, "");
  const own = [...metrics.names].filter((name) => name.startsWith("petstore_")).map(base);
  expect([...new Set(own)].filter((name) => ![...shown].map(base).includes(name))).toEqual([]);
});

it("the dashboard's panels have an id and a place of their own", () => {
  const { panels } = JSON.parse(readFileSync(dashboardFile, "utf8")) as { panels: { id: number; gridPos: object }[] };
  expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length);
  expect(new Set(panels.map(({ gridPos }) => JSON.stringify(gridPos))).size).toBe(panels.length);
});

describe.runIf(hasPromtool)("Prometheus", () => {
  it("accepts the alert rules", () => {
    expect(execFileSync("promtool", ["check", "rules", "--lint-fatal", alertFile]).toString()).toContain("SUCCESS");
  });

  it("finds no fault with the metrics", () => {
    const { status, stdout, stderr } = spawnSync("promtool", ["check", "metrics"], { input: metrics.text });
    expect([stdout.toString(), stderr.toString(), status]).toEqual(["", "", 0]);
  });

  it("accepts every expression of the dashboard", () => {
    const expressions = dashboardExpressions().map((expr) => expr.replaceAll("$__rate_interval", "5m"));
    const rules = expressions.map((expr, index) => ({ record: `dashboard:expression:${index}`, expr }));
    const file = join(createFolder(), "dashboard.yaml");
    // JSON is YAML.
    writeFileSync(file, JSON.stringify({ groups: [{ name: "dashboard", rules }] }));
    expect(execFileSync("promtool", ["check", "rules", file]).toString()).toContain("SUCCESS");
  });
});
