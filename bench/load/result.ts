import type { Latencies } from "./latencies.ts";
import type { LoadResult, Tail } from "./load.ts";

/** What a generator has counted. */
export interface Counted {
  readonly requests: number;
  readonly failures: number;
  readonly latencies: Latencies;
  /** A time of `performance.now`. */
  readonly startedAtMs: number;
  readonly tail?: Tail;
}

/** Prints a generator's result, for `nodeLoad` to read. */
export function printResult({ requests, failures, latencies, startedAtMs, tail }: Counted): void {
  const { user, system } = process.cpuUsage();
  const result: LoadResult = {
    requests,
    seconds: (performance.now() - startedAtMs) / 1000,
    p50Us: latencies.percentile(0.5),
    p99Us: latencies.percentile(0.99),
    failures,
    loadCpuSeconds: (user + system) / 1e6,
    ...(tail && { tail }),
  };
  console.log(JSON.stringify(result));
}
