import { monitorEventLoopDelay } from "node:perf_hooks";
import type { DescService } from "@bufbuild/protobuf";
import type { Logger } from "pino";
import type { ListCacheState } from "../services/inventory-list-cache.ts";
import { CallMetrics, CallRate } from "./call-metrics.ts";
import { type CallLog, type CallObserver, createCallLog, createCallObserver } from "./call-observer.ts";
import {
  AttemptMetrics,
  addStreamMetrics,
  type StreamCounts,
  StreamLagMetrics,
  type WatchedWebhook,
  WebhookGauges,
} from "./delivery-metrics.ts";
import { addCounter, addGauge, Metrics } from "./instruments.ts";
import { LimitMetrics, SharedLimitMetrics } from "./limit-metrics.ts";
import { type Readiness, readStatus, type StatusOptions, storeAwayText } from "./status.ts";
import { addStoreMetrics, CommitMetrics, type WatchedStore } from "./store-metrics.ts";
import type { Tracing } from "./tracing.ts";

/** What is known before the store is open. */
interface ObservabilityOptions {
  readonly version: string;
  /** Where the store is, without a password. */
  readonly db: string;
  /** All services that are served, including health and reflection. */
  readonly services: readonly DescService[];
  readonly logger: Logger;
  readonly tracing: Tracing | undefined;
  readonly clock: () => number;
}

/** Collects metrics, the log of calls and the status of a server. Its parts are told what happens. */
export class Observability {
  readonly observer: CallObserver;
  readonly commits: CommitMetrics;
  readonly limits: LimitMetrics;
  readonly sharedLimits: SharedLimitMetrics;
  readonly streamLag: StreamLagMetrics;
  readonly attempts: AttemptMetrics;
  readonly #options: ObservabilityOptions;
  readonly #startedAtMs: number;
  readonly #metrics = new Metrics();
  readonly #calls: CallMetrics;
  readonly #rate: CallRate;
  readonly #log: CallLog;
  #watchedStore: WatchedStore | undefined;
  #streams: (() => StreamCounts) | undefined;
  #webhooks: WebhookGauges | undefined;

  constructor(options: ObservabilityOptions) {
    const { version, services, logger, tracing, clock } = options;
    this.#options = options;
    this.#startedAtMs = clock();
    this.#calls = new CallMetrics(this.#metrics, services);
    this.#rate = new CallRate(() => this.#calls.total);
    this.limits = new LimitMetrics(this.#metrics);
    this.sharedLimits = new SharedLimitMetrics(this.#metrics, clock);
    this.commits = new CommitMetrics(this.#metrics);
    this.streamLag = new StreamLagMetrics(this.#metrics);
    this.attempts = new AttemptMetrics(this.#metrics);
    addProcessMetrics(this.#metrics, version);
    this.#log = createCallLog(logger, () => tracing?.traceId());
    this.observer = createCallObserver([this.#log.ended, this.#calls.ended]);
  }

  /** Adds the metrics of a store: its keys, its size and its backups. */
  watchStore(store: WatchedStore): void {
    this.#watchedStore = store;
    addStoreMetrics(this.#metrics, store, this.#options.clock);
  }

  /** Adds the metric that says whether the store answers, as `/readyz` does. */
  watchReadiness(ask: () => Promise<Readiness>): void {
    addGauge(this.#metrics, {
      name: "petstore_store_away",
      help: "1 while the store does not answer: calls end with UNAVAILABLE, and the server is not ready.",
      labelNames: [],
      read: async () => [{ labels: {}, value: (await ask()) === storeAwayText ? 1 : 0 }],
    });
  }

  watchList(state: () => ListCacheState): void {
    addListMetrics(this.#metrics, state);
  }

  watchStreams(counts: () => StreamCounts): void {
    this.#streams = counts;
    addStreamMetrics(this.#metrics, counts);
  }

  watchWebhooks(read: () => Iterable<WatchedWebhook>): void {
    this.#webhooks = new WebhookGauges(read, this.#options.clock);
    this.#webhooks.addTo(this.#metrics);
  }

  /** Loads what the first scrape would wait for. */
  async prepare(): Promise<void> {
    await this.#metrics.load();
  }

  /** All metrics, in Prometheus's text format. */
  readMetrics(): ReturnType<Metrics["read"]> {
    return this.#metrics.read();
  }

  status(server: Pick<StatusOptions, "addresses" | "readiness">) {
    const { version, db, logger, clock } = this.#options;
    return readStatus({
      ...server,
      version,
      db,
      logger,
      startedAtMs: this.#startedAtMs,
      calls: this.#calls,
      rate: this.#rate,
      limits: this.limits,
      streams: this.#streams?.(),
      webhooks: this.#webhooks?.summary,
      sharedLimits: this.sharedLimits,
      store: this.#watchedStore as WatchedStore,
      nowMs: clock(),
    });
  }

  /** Logs the calls that are held back. */
  flushLog(): void {
    this.#log.flush();
  }

  close(): void {
    this.#rate.close();
  }
}

/** Adds the metrics of the inventory list that REST keeps in memory. */
function addListMetrics(metrics: Metrics, state: () => ListCacheState): void {
  addCounter(metrics, {
    name: "petstore_list_cache_pieces_total",
    help: "Pieces of the inventory's list that were asked for, by whether they stood ready.",
    labelNames: ["result"],
    read: () => [
      { labels: { result: "hit" }, value: state().hits },
      { labels: { result: "miss" }, value: state().misses },
    ],
  });
  addCounter(metrics, {
    name: "petstore_list_cache_blocks_made_total",
    help: "Blocks of the inventory's list that were read from the store and written as JSON.",
    labelNames: [],
    read: () => [{ labels: {}, value: state().pagesMade }],
  });
  addGauge(metrics, {
    name: "petstore_list_cache_bytes",
    help: "The size of what is kept ready of the inventory's list.",
    labelNames: [],
    read: () => [{ labels: {}, value: state().bytes }],
  });
}

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
function addProcessMetrics(metrics: Metrics, version: string): void {
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
