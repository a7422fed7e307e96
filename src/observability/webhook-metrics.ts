import { type DeliveryAttempt, pauseReasons, stateOfWebhook, type Webhook } from "../domain/webhook.ts";
import { addCounter, addGauge, type Metrics } from "./instruments.ts";

/** A webhook as metrics see it. */
export interface WatchedWebhook {
  readonly webhook: Webhook;
  /** When the oldest change that waits for its delivery was made; undefined where none does. */
  readonly pendingSinceMs: number | undefined;
}

/** How many webhooks have a series of their own, the oldest ones. The others share one. */
const maxSeries = 100;

/** In the place of an id: the webhooks that have no series of their own. */
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
