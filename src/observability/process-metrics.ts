import { collectDefaultMetrics, type Registry } from "prom-client";
import { addGauge } from "./instruments.ts";

/** How often the event loop's delay is measured, in milliseconds. */
const eventLoopMonitoringPrecision = 20;

/** Of prom-client's own metrics those whose names Prometheus finds fault with. */
const misnamed = ["nodejs_active_handles_total", "nodejs_active_requests_total", "nodejs_active_resources_total"];

/** Shows what runs, and the process as prom-client does: its CPU time and memory, and how late its event loop is. */
export function addProcessMetrics(registry: Registry, version: string): void {
  collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision });
  for (const name of misnamed) {
    registry.removeSingleMetric(name);
  }
  addGauge(registry, {
    name: "petstore_build_info",
    help: "Always 1; the labels tell what runs.",
    labelNames: ["version", "node"],
    read: () => [{ labels: { version, node: process.versions.node }, value: 1 }],
  });
}
