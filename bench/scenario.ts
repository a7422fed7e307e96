import type { Round } from "./round.ts";

/** The figure that a ratio compares. */
export type Metric = "requestsPerSecond" | "changesPerSecond" | "p99Us" | "cpuUsPerRequest";

/** One contender's target against another one. Without a bound the ratio is only reported. */
export interface Target {
  /** Whose target it is; the first contender's by default. */
  readonly of?: string;
  readonly against: string;
  readonly metric: Metric;
  readonly atLeast?: number;
  readonly atMost?: number;
}

/** Figures that are counted in separate runs, because counting slows the server down. Unknown figures are NaN. */
export interface Probe {
  readonly systemCallsPerRequest: number;
  /** On V8's heaps. NaN for a server that is not on Node. */
  readonly allocatedBytesPerRequest: number;
}

/** What one row of a scenario measures. It can be run repeatedly. */
export interface MeasuredRun {
  readonly name: string;
  /** Puts it under load for this many seconds. */
  run(seconds: number): Promise<Round>;
  /** Puts it under load twice for this many seconds, to count what it does for a request. */
  probe?(seconds: number): Promise<Probe>;
}

/** Contenders that are compared. */
export interface Scenario {
  readonly title: string;
  readonly targets: readonly Target[];
  /** Whether it has one long round instead of several short ones, to measure what happens rarely. */
  readonly isLong?: boolean;
  /** Starts all contenders. The stack stops them. */
  start(held: AsyncDisposableStack): Promise<readonly MeasuredRun[]>;
}
