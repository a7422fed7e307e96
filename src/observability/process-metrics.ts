import { monitorEventLoopDelay } from "node:perf_hooks";
import { addGauge, type Metrics } from "./instruments.ts";

/** The default metrics of prom-client whose names `promtool` objects to. */
const misnamed = ["nodejs_active_handles_total", "nodejs_active_requests_total", "nodejs_active_resources_total"];

/** The default metrics of prom-client that report the sampling interval as the delay of an idle event loop. */
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
export function addProcessMetrics(metrics: Metrics, version: string): void {
  metrics.add((registry, { collectDefaultMetrics }) => {
    collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision });
    for (const name of [...misnamed, ...mismeasured]) {
      registry.removeSingleMetric(name);
    }
  });
  const delay = new EventLoopDelay();
  for (const [key, help] of delays) {
    const read = () => [{ labels: {}, value: delay.sinceLast[key] }];
    addGauge(metrics, { name: delayName(key), help, labelNames: [], read });
  }
  addGauge(metrics, {
    name: "petstore_build_info",
    help: "Always 1; the labels tell what runs.",
    labelNames: ["version", "node"],
    read: () => [{ labels: { version, node: process.versions.node }, value: 1 }],
  });
}

function delayName(part: string): string {
  return `nodejs_eventloop_lag_${part}_seconds`;
}

/** How often it is measured, in milliseconds. An idle process wakes 50 times a second for it. */
const resolutionMs = 20;

/** How late the event loop ran its timers, in seconds. */
interface DelaySummary {
  readonly p50: number;
  readonly p90: number;
  readonly p99: number;
  readonly max: number;
}

/** Measures how late the event loop runs its timers. */
export class EventLoopDelay {
  readonly #histogram = monitorEventLoopDelay({ resolution: resolutionMs });
  #summary: DelaySummary | undefined;

  constructor() {
    this.#histogram.enable();
  }

  /** The delays since this was last read. Reads within one turn of the event loop get the same. */
  get sinceLast(): DelaySummary {
    this.#summary ??= this.#take();
    return this.#summary;
  }

  #take(): DelaySummary {
    const histogram = this.#histogram;
    const summary = {
      p50: delayOf(histogram.percentile(50)),
      p90: delayOf(histogram.percentile(90)),
      p99: delayOf(histogram.percentile(99)),
      max: delayOf(histogram.max),
    };
    histogram.reset();
    setImmediate(() => {
      this.#summary = undefined;
    });
    return summary;
  }
}

/** Node measures the time between two runs of a timer, in nanoseconds. Without a delay it is the timer's interval. */
function delayOf(intervalNs: number): number {
  return Math.max(0, intervalNs / 1e9 - resolutionMs / 1e3);
}
