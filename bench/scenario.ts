import type { Round } from "./round.ts";

/** The figure whose medians a ratio compares. */
export type Metric = "requestsPerSecond" | "changesPerSecond" | "p99Us";

/** One contender's target against another one. Without a bound the ratio is only reported. */
export interface Target {
  /** Whose target it is; the first contender's by default. */
  readonly of?: string;
  readonly against: string;
  readonly metric: Metric;
  readonly atLeast?: number;
  readonly atMost?: number;
}

/** Something that can be put under load repeatedly. */
export interface Bout {
  readonly name: string;
  /** Puts it under load for this many seconds. */
  run(seconds: number): Promise<Round>;
}

/** Contenders that are compared. */
export interface Scenario {
  readonly title: string;
  readonly targets: readonly Target[];
  /** Starts all contenders. The stack stops them. */
  start(held: AsyncDisposableStack): Promise<readonly Bout[]>;
}
