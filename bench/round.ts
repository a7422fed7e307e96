import { median } from "./statistics.ts";

/** One contender's result in one round. What was not measured is NaN. */
export interface Round {
  readonly requestsPerSecond: number;
  /** NaN for reads. */
  readonly changesPerSecond: number;
  readonly p50Us: number;
  readonly p99Us: number;
  /** For a load at a fixed rate only. */
  readonly p999Us: number;
  /** The longest pause of a Node server's main thread for its garbage collector. For a load at a fixed rate only. */
  readonly longestPauseMs: number;
  /** How late the generator sent requests: 99 % of them were less late than this. For a load at a fixed rate only. */
  readonly lateP99Us: number;
  /** The CPU time of the servers and their children, all threads together. NaN if it includes other requests. */
  readonly cpuUsPerRequest: number;
  /** The CPU time of all processes of PostgreSQL. NaN for a contender without PostgreSQL. */
  readonly databaseCpuUsPerRequest: number;
  /** The CPU time of Valkey. NaN for a contender without Valkey. */
  readonly limitsCpuUsPerRequest: number;
  /** How much of one core the load generator used, from 0 to 1. Near 1 the figures measure the generator. */
  readonly loadShare: number;
}

/** A round without any measurement. */
export const unmeasured: Round = {
  requestsPerSecond: NaN,
  changesPerSecond: NaN,
  p50Us: NaN,
  p99Us: NaN,
  p999Us: NaN,
  longestPauseMs: NaN,
  lateP99Us: NaN,
  cpuUsPerRequest: NaN,
  databaseCpuUsPerRequest: NaN,
  limitsCpuUsPerRequest: NaN,
  loadShare: NaN,
};

/** The median of each number over some rounds; of the longest pauses, the maximum. */
export function medianRound(rounds: readonly Round[]): Round {
  const metrics = Object.keys(unmeasured) as (keyof Round)[];
  const medians = metrics.map((metric) => [metric, median(rounds.map((round) => round[metric]))]);
  const longestPauseMs = Math.max(...rounds.map((round) => round.longestPauseMs));
  return { ...Object.fromEntries(medians), longestPauseMs };
}
