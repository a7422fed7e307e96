import { median } from "./statistics.ts";

/** What one contender has done in one round. */
export interface Round {
  readonly requestsPerSecond: number;
  readonly p50Us: number;
  readonly p99Us: number;
  /** The server's CPU time, all of its threads together. NaN where other requests have a part in it. */
  readonly cpuUsPerRequest: number;
  /** How much of one core the load generator took, from 0 to 1. Near to 1 it is the generator that is measured. */
  readonly loadShare: number;
}

/** Each number's median over some rounds. */
export function medianRound(rounds: readonly Round[]): Round {
  const of = (metric: keyof Round) => median(rounds.map((round) => round[metric]));
  return {
    requestsPerSecond: of("requestsPerSecond"),
    p50Us: of("p50Us"),
    p99Us: of("p99Us"),
    cpuUsPerRequest: of("cpuUsPerRequest"),
    loadShare: of("loadShare"),
  };
}
