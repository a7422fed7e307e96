import { collectDefaultMetrics, type Registry } from "prom-client";
import { type DelaySummary, EventLoopDelay } from "./event-loop-delay.ts";
import { addGauge } from "./instruments.ts";

/** Those of prom-client's default metrics whose names `promtool` objects to. */
const misnamed = ["nodejs_active_handles_total", "nodejs_active_requests_total", "nodejs_active_resources_total"];

/** Those of prom-client's default metrics that give the sampling interval as the delay of an idle event loop. */
const mismeasured = ["min", "max", "mean", "stddev", "p50", "p90", "p99"].map(delayName);

/** How often prom-client measures the delay, in milliseconds: practically never, since ours replaces it. */
const eventLoopMonitoringPrecision = 2 ** 31 - 1;

const delays: readonly [key: keyof DelaySummary, help: string][] = [
  ["p50", "The median of the event loop's delays since the last scrape."],
  ["p90", "The 90th percentile of the event loop's delays since the last scrape."],
  ["p99", "The 99th percentile of the event loop's delays since the last scrape."],
  ["max", "The longest of the event loop's delays since the last scrape."],
];

/** Adds the metrics of the process: its version, CPU time and memory, and how late its event loop is. */
export function addProcessMetrics(registry: Registry, version: string): void {
  collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision });
  for (const name of [...misnamed, ...mismeasured]) {
    registry.removeSingleMetric(name);
  }
  const delay = new EventLoopDelay();
  for (const [key, help] of delays) {
    const read = () => [{ labels: {}, value: delay.sinceLast[key] }];
    addGauge(registry, { name: delayName(key), help, labelNames: [], read });
  }
  addGauge(registry, {
    name: "petstore_build_info",
    help: "Always 1; the labels tell what runs.",
    labelNames: ["version", "node"],
    read: () => [{ labels: { version, node: process.versions.node }, value: 1 }],
  });
}

function delayName(part: string): string {
  return `nodejs_eventloop_lag_${part}_seconds`;
}
