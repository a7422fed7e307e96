import { execFileSync, spawnSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { restProtocols } from "../support/clients/protocols.ts";
import { until } from "../support/deadline.ts";
import { createFolder } from "../support/folder.ts";
import { isInstalled } from "../support/installed.ts";
import { type Metrics, readMetrics } from "../support/metrics.ts";
import {
  alertFile,
  alertRules,
  dashboardExpressions,
  dashboardPanels,
  type Panel,
  sentExpressions,
} from "../support/ops-files.ts";
import { projectRoot } from "../support/petstore.ts";
import { startServer, type TestServer } from "../support/server.ts";

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
  await server.store.run("webhooks", "create", "--url", "https://receiver.example/");
  await until(async () => {
    metrics = await readMetrics(server);
    return metrics.names.has("petstore_webhook_lag_seconds");
  }, 5_000);
});

afterAll(() => server?.stop());

it("an alert names no command without what it needs", () => {
  const text = readFileSync(alertFile, "utf8");
  const commands = [...text.matchAll(/`petstore (webhooks (?!list)[^`]*)`/g)].map(([, command]) => command);
  expect(commands).toEqual([
    expect.stringMatching(/^webhooks deliveries \S/),
    expect.stringMatching(/^webhooks resume \S/),
  ]);
});

const alertExpressions = () => alertRules().map(({ expr }) => expr.replaceAll(/\s+/g, " "));

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

it("docs/operations.md has each metric of streams and webhooks", () => {
  const operations = readFileSync(join(projectRoot, "docs/operations.md"), "utf8");
  const names = [...metrics.names].filter((name) => /^petstore_(stream|webhook)/.test(name));
  const base = (name: string) => name.replace(/_(bucket|sum|count)$/, "");
  expect(names.length).toBeGreaterThan(5);
  expect(names.filter((name) => !operations.includes(`\`${base(name)}\``))).toEqual([]);
});

const rulesOfOneServer = alertRules().filter(({ alert }) => alert !== "PetstoreGone");

it.each(rulesOfOneServer)("the operator reads which server is meant: $alert", ({ expr, annotations }) => {
  expect(annotations.description).toContain("{{ $labels.instance }}");
  // An aggregation keeps no label that it does not name.
  const groupings = [...expr.matchAll(/\b(?:sum|max|min|avg|count)\b(?: by \(([^)]*)\))?/g)];
  expect(groupings.filter(([, labels = ""]) => !labels.split(", ").includes("instance"))).toEqual([]);
});

it("the dashboard can be had for one server, and sets servers side by side", () => {
  expect(dashboardExpressions().filter((expr) => !expr.includes('instance=~"$instance"'))).toEqual([]);
  const bySide = dashboardPanels().filter(({ targets = [] }) =>
    targets.some(({ legendFormat }) => legendFormat === "{{instance}}"),
  );
  expect(bySide.map(({ title }) => title)).toEqual(
    expect.arrayContaining(["Calls by server", "Failed calls by server", "Store away", "Valkey away", "CPU"]),
  );
});

describe("the dashboard's panels", () => {
  const panels = dashboardPanels();
  const shown = panels.filter(({ type }) => type !== "row");

  it("have an id of their own", () => {
    expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length);
  });

  it("have a place of their own, within the 24 columns", () => {
    const cells = panels.flatMap(({ gridPos: { x, y, w, h } }) =>
      Array.from({ length: w * h }, (_, index) => `${x + (index % w)},${y + Math.floor(index / w)}`),
    );
    expect(new Set(cells).size).toBe(cells.length);
    expect(panels.filter(({ gridPos: { x, w } }) => x + w > 24)).toEqual([]);
  });

  it("stand below a heading each", () => {
    expect(panels[0]?.type).toBe("row");
    const headings = panels.filter(({ type }) => type === "row").map(({ title }) => title);
    const groups = [
      "At a glance",
      "Servers",
      "Traffic",
      "Errors",
      "Latency",
      "Limits and keys",
      "Streams",
      "Webhooks",
      "Store",
      "Process",
    ];
    expect(headings).toEqual(groups);
  });

  it.each(shown)("tell what they show, in which unit: $title", ({ description, fieldConfig }) => {
    expect(description).toMatch(/\.$/);
    expect(fieldConfig?.defaults.unit).toMatch(/./);
  });

  it.each(shown)("name each series by what tells it from the others: $title", ({ targets = [] }: Panel) => {
    expect(new Set(targets.map(({ legendFormat }) => legendFormat)).size).toBe(targets.length);
    for (const { expr, legendFormat } of targets) {
      const labels = /\bby \(([^)]*)\) \(/.exec(expr)?.[1]?.split(", ") ?? [];
      const told = labels.filter((label) => label !== "le").map((label) => `{{${label}}}`);
      expect(told.filter((label) => !legendFormat.includes(label))).toEqual([]);
    }
  });
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
    const rules = sentExpressions("5m").map((expr, index) => ({ record: `dashboard:expression:${index}`, expr }));
    const file = join(createFolder(), "dashboard.yaml");
    // JSON is YAML.
    writeFileSync(file, JSON.stringify({ groups: [{ name: "dashboard", rules }] }));
    expect(execFileSync("promtool", ["check", "rules", file]).toString()).toContain("SUCCESS");
  });
});
