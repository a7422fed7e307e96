import type { Round } from "./round.ts";

/** The figure whose medians a ratio compares. */
export type Metric = "requestsPerSecond" | "p99Us";

/** The first contender's target against another one. Without a bound the ratio is only reported. */
export interface Target {
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

/** Contenders under the same load. The targets are the first one's. */
export interface Scenario {
  readonly title: string;
  readonly targets: readonly Target[];
  /** Starts all contenders. The stack stops them. */
  start(held: AsyncDisposableStack): Promise<readonly Bout[]>;
}
