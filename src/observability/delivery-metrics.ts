import { type DeliveryAttempt, pauseReasons, stateOfWebhook, type Webhook } from "../domain/webhook.ts";
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
  /**
   * How many were refused: the key or the server already had its maximum open, the server was stopping, or Valkey did
   * not answer.
   */
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
    help: "Streams of keys that were refused: the key or the server already had its maximum open, the server was stopping, or Valkey did not answer.",
    labelNames: [],
    read: () => [{ labels: {}, value: counts().refused }],
  });
}

/** A webhook as metrics see it. */
export interface WatchedWebhook {
  readonly webhook: Webhook;
  /** When the oldest change that waits for its delivery was made; undefined where none does. */
  readonly pendingSinceMs: number | undefined;
}

/** How many webhooks have a series of their own: the oldest ones. */
const maxSeries = 100;

/** The label that all webhooks beyond `maxSeries` share. */
const others = "other";

const outcomes = ["delivered", "failed"] as const;

const states = ["active", "failing", ...pauseReasons.map((reason) => `paused_${reason}` as const)] as const;

/** Counts attempts to deliver to webhooks. */
export class AttemptMetrics {
  readonly #counts = { delivered: 0, failed: 0 };

  constructor(metrics: Metrics) {
    addCounter(metrics, {
      name: "petstore_webhook_attempts_total",
      help: "Attempts to deliver changes to webhooks, by outcome.",
      labelNames: ["outcome"],
      read: () => outcomes.map((outcome) => ({ labels: { outcome }, value: this.#counts[outcome] })),
    });
  }

  readonly attempted = ({ fault }: DeliveryAttempt): void => {
    this.#counts[fault === undefined ? "delivered" : "failed"] += 1;
  };
}

/** Tells of all webhooks of a server, which are listed in the order of their creation. */
export class WebhookGauges {
  readonly #list: () => Iterable<WatchedWebhook>;
  readonly #clock: () => number;

  constructor(list: () => Iterable<WatchedWebhook>, clock: () => number) {
    this.#list = list;
    this.#clock = clock;
  }

  addTo(metrics: Metrics): void {
    addGauge(metrics, {
      name: "petstore_webhooks",
      help: "Webhooks, by whether they deliver, fail at present, or are paused and why.",
      labelNames: ["state"],
      read: () => states.map((state) => ({ labels: { state }, value: this.#count(state) })),
    });
    addGauge(metrics, {
      name: "petstore_webhook_lag_seconds",
      help: `The age of the oldest change that waits for its delivery, 0 when none does: of each of the ${maxSeries} oldest webhooks, and the largest of all others.`,
      labelNames: ["webhook"],
      read: () => [...this.#lags()].map(([webhook, value]) => ({ labels: { webhook }, value })),
    });
  }

  /** For the status. */
  get summary() {
    const watched = [...this.#list()];
    const count = (state: ReturnType<typeof stateOfWebhook>) =>
      watched.filter(({ webhook }) => stateOfWebhook(webhook) === state).length;
    const lagSeconds = watched.reduce((most, each) => Math.max(most, this.#lagOf(each)), 0);
    return { active: count("active"), failing: count("failing"), paused: count("paused"), lagSeconds };
  }

  #count(state: (typeof states)[number]): number {
    return [...this.#list()].filter(({ webhook }) => detailedStateOf(webhook) === state).length;
  }

  #lags(): Map<string, number> {
    const lags = new Map<string, number>();
    for (const watched of this.#list()) {
      const label = lags.size < maxSeries ? watched.webhook.id : others;
      lags.set(label, Math.max(lags.get(label) ?? 0, this.#lagOf(watched)));
    }
    return lags;
  }

  /** In seconds. */
  #lagOf({ pendingSinceMs }: WatchedWebhook): number {
    return pendingSinceMs === undefined ? 0 : Math.max(0, this.#clock() - pendingSinceMs) / 1_000;
  }
}

function detailedStateOf(webhook: Webhook): (typeof states)[number] {
  const { paused } = webhook;
  return paused === undefined ? (stateOfWebhook(webhook) as "active" | "failing") : `paused_${paused.reason}`;
}
