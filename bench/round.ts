import { median } from "./statistics.ts";

/** One contender's result in one round. */
export interface Round {
  readonly requestsPerSecond: number;
  /** NaN for reads. */
  readonly changesPerSecond: number;
  readonly p50Us: number;
  readonly p99Us: number;
  /** The server's CPU time, all threads together. NaN if it includes other requests. */
  readonly cpuUsPerRequest: number;
  /** How much of one core the load generator used, from 0 to 1. Near 1 the figures measure the generator. */
  readonly loadShare: number;
}

/** Each number's median over some rounds. */
export function medianRound(rounds: readonly Round[]): Round {
  const of = (metric: keyof Round) => median(rounds.map((round) => round[metric]));
  return {
    requestsPerSecond: of("requestsPerSecond"),
    changesPerSecond: of("changesPerSecond"),
    p50Us: of("p50Us"),
    p99Us: of("p99Us"),
    cpuUsPerRequest: of("cpuUsPerRequest"),
    loadShare: of("loadShare"),
  };
}
