import { addCounter, addGauge, addHistogram, Buckets, type Metrics } from "./instruments.ts";

/** From a change that is handed over at once to one that waits for long, in seconds. */
const lagBounds = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5];

/** The streams of keys. */
export interface StreamCounts {
  /** How many are open. */
  readonly open: number;
  /** How many may be open. */
  readonly most: number;
  /** How many keys have as many open as a key may. */
  readonly keysAtMost: number;
  /** How many were opened. */
  readonly opened: number;
  /** How many were refused, as their key or the server had as many as it may. */
  readonly refused: number;
}

/** Measures how long changes took from when they were made until streams had been handed them. */
export class StreamLagMetrics {
  readonly #lags = new Buckets(lagBounds);

  constructor(metrics: Metrics) {
    addHistogram(metrics, {
      name: "petstore_stream_lag_seconds",
      help: "How long changes took from when they were made until all streams had been handed them.",
      labelNames: [],
      read: () => [{ labels: {}, value: this.#lags }],
    });
  }

  readonly distributed = (lagMs: number): void => {
    this.#lags.observe(Math.max(0, lagMs) / 1_000);
  };
}

/** Adds the metrics of the streams that keys have open. */
export function addStreamMetrics(metrics: Metrics, counts: () => StreamCounts): void {
  addGauge(metrics, {
    name: "petstore_streams_open",
    help: "Streams of keys that are open.",
    labelNames: [],
    read: () => [{ labels: {}, value: counts().open }],
  });
  addCounter(metrics, {
    name: "petstore_streams_opened_total",
    help: "Streams of keys that were opened.",
    labelNames: [],
    read: () => [{ labels: {}, value: counts().opened }],
  });
  addCounter(metrics, {
    name: "petstore_streams_refused_total",
    help: "Streams that were refused, as their key had as many open as it may, or the server had.",
    labelNames: [],
    read: () => [{ labels: {}, value: counts().refused }],
  });
}
