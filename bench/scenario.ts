import type { Round } from "./round.ts";

/** What a ratio compares: the medians of one of these. */
export type Metric = "requestsPerSecond" | "p99Us";

/** How the first contender shall stand to another one. Without a bound it is only told how it does. */
export interface Target {
  readonly against: string;
  readonly metric: Metric;
  readonly atLeast?: number;
  readonly atMost?: number;
}

/** One thing that is put under load, and can be so again and again. */
export interface Bout {
  readonly name: string;
  /** Puts it under load for so many seconds. */
  run(seconds: number): Promise<Round>;
}

/** Some contenders under the same load. The targets are the first one's. */
export interface Scenario {
  readonly title: string;
  readonly targets: readonly Target[];
  /** Starts all contenders, and gives what stops them to the stack. */
  start(held: AsyncDisposableStack): Promise<readonly Bout[]>;
}
