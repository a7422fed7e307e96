import { type Plan, plans } from "../domain/key.ts";
import type { RateLimitDecision } from "../domain/limits.ts";
import { maskCredentials } from "../domain/masking.ts";
import { addCounter, addGauge, addHistogram, Buckets, type Metrics } from "./instruments.ts";

/** The label of requests without a valid key. They are counted by address. */
const noPlan = "none";

/** A window is nearly used up when less than this part of it remains. */
const nearPart = 0.2;

const outcomes = ["admitted", "refused", "banned"] as const satisfies readonly RateLimitDecision["outcome"][];

type DecisionOutcome = (typeof outcomes)[number];

interface PlanCounts extends Record<DecisionOutcome, number> {
  near: number;
}

/** Counts the decisions of the rate limiter. */
export class LimitMetrics {
  readonly #counts = Object.fromEntries([...plans, noPlan].map((plan) => [plan, newCounts()])) as Record<
    string,
    PlanCounts
  >;

  constructor(metrics: Metrics) {
    addCounter(metrics, {
      name: "petstore_limit_decisions_total",
      help: "Requests on which the limits have decided, by plan and outcome. `none` are those without a valid key.",
      labelNames: ["plan", "outcome"],
      read: () =>
        Object.entries(this.#counts).flatMap(([plan, counts]) =>
          outcomes.map((outcome) => ({ labels: { plan, outcome }, value: counts[outcome] })),
        ),
    });
    addCounter(metrics, {
      name: "petstore_limit_near_total",
      help: "Admitted requests that have left less than a fifth of one of their windows, by plan.",
      labelNames: ["plan"],
      read: () => Object.entries(this.#counts).map(([plan, { near }]) => ({ labels: { plan }, value: near })),
    });
  }

  /** Counts a decision on a request: of a key with this plan, or without a valid key. */
  readonly decided = ({ outcome, windows }: RateLimitDecision, plan: Plan | typeof noPlan = noPlan): void => {
    const counts = this.#counts[plan] as PlanCounts;
    counts[outcome] += 1;
    if (outcome === "admitted" && windows.some(isNear)) {
      counts.near += 1;
    }
  };

  /** How many requests had each outcome, of all plans together. */
  get totals(): Readonly<Record<DecisionOutcome, number>> {
    const all = Object.values(this.#counts);
    const sum = (outcome: DecisionOutcome) => all.reduce((total, counts) => total + counts[outcome], 0);
    return { admitted: sum("admitted"), refused: sum("refused"), banned: sum("banned") };
  }
}

function newCounts(): PlanCounts {
  return { admitted: 0, refused: 0, banned: 0, near: 0 };
}

function isNear({ limit, remaining }: RateLimitDecision["windows"][number]): boolean {
  return remaining < nearPart * limit;
}

/** From a Valkey on the same machine to one that nearly counts as away, in seconds. */
const roundTripBounds = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2];

/** Limits that are counted for all servers together. */
interface WatchedSharedLimits {
  /** Where they are counted, without a password. */
  readonly url: string;
  /** What happens to requests while Valkey is away: `local` or `refuse`. */
  readonly fallback: string;
  /** How many requests this server has decided on by itself. */
  readonly localDecisions: () => number;
}

/** Measures how fast Valkey counts, and whether it is away. Nothing calls it if limits are counted in memory. */
export class SharedLimitMetrics {
  readonly #clock: () => number;
  readonly #roundTrips = new Buckets(roundTripBounds);
  #watched: WatchedSharedLimits | undefined;
  #absence: { readonly sinceMs: number; reason: unknown } | undefined;

  constructor(metrics: Metrics, clock: () => number) {
    this.#clock = clock;
    addGauge(metrics, {
      name: "petstore_limits_away",
      help: "1 while Valkey, which counts the limits, does not answer. Each server then counts by itself, or refuses requests.",
      labelNames: [],
      read: () => [{ labels: {}, value: this.#absence === undefined ? 0 : 1 }],
    });
    addCounter(metrics, {
      name: "petstore_limits_local_total",
      help: "Requests on which this server has decided by itself while Valkey was away.",
      labelNames: [],
      read: () => [{ labels: {}, value: this.#watched?.localDecisions() ?? 0 }],
    });
    addHistogram(metrics, {
      name: "petstore_limits_round_trip_seconds",
      help: "How long Valkey took to answer all that one turn of the event loop had asked.",
      labelNames: [],
      read: () => [{ labels: {}, value: this.#roundTrips }],
    });
  }

  attach(watched: WatchedSharedLimits): void {
    this.#watched = watched;
  }

  disconnected(reason: unknown): void {
    this.#absence ??= { sinceMs: this.#clock(), reason };
    this.#absence.reason = reason;
  }

  connected(): void {
    this.#absence = undefined;
  }

  readonly roundTrip = (durationMs: number): void => {
    this.#roundTrips.observe(durationMs / 1_000);
  };

  /** For the status, to be written as JSON; undefined where limits are counted in memory. */
  get status() {
    if (this.#watched === undefined) {
      return undefined;
    }
    const { url, fallback, localDecisions } = this.#watched;
    return { url, fallback, away: this.#describeAbsence(), countedLocally: localDecisions() };
  }

  #describeAbsence() {
    if (this.#absence === undefined) {
      return null;
    }
    const { sinceMs, reason } = this.#absence;
    const text = maskCredentials(reason instanceof Error ? reason.message : String(reason));
    return { since: new Date(sinceMs).toISOString(), reason: text };
  }
}
