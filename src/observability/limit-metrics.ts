import { type Plan, plans } from "../domain/key.ts";
import type { RateLimitDecision } from "../domain/rate-limit-decision.ts";
import { addCounter, type Metrics } from "./instruments.ts";

/** In the place of a plan: requests without a valid key, which are counted by address. */
const noPlan = "none";

/** A window is nearly used up when less than this part of it remains. */
const nearPart = 0.2;

const outcomes = ["admitted", "refused", "banned"] as const satisfies readonly RateLimitDecision["outcome"][];

type Outcome = (typeof outcomes)[number];

interface PlanCounts extends Record<Outcome, number> {
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
      name: "petstore_limit_judgements_total",
      help: "Requests that the limits have judged, by plan and outcome. `none` are those without a valid key.",
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
  get totals(): Readonly<Record<Outcome, number>> {
    const all = Object.values(this.#counts);
    const sum = (outcome: Outcome) => all.reduce((total, counts) => total + counts[outcome], 0);
    return { admitted: sum("admitted"), refused: sum("refused"), banned: sum("banned") };
  }
}

function newCounts(): PlanCounts {
  return { admitted: 0, refused: 0, banned: 0, near: 0 };
}

function isNear({ limit, remaining }: RateLimitDecision["windows"][number]): boolean {
  return remaining < nearPart * limit;
}
