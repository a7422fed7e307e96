import type { Latencies } from "./latencies.ts";
import type { LoadResult } from "./load.ts";

/** Prints a generator's result, for `nodeLoad` to read. `startedAtMs` is a time of `performance.now`. */
export function printResult(latencies: Latencies, failures: number, startedAtMs: number): void {
  const { user, system } = process.cpuUsage();
  const result: LoadResult = {
    requests: latencies.count,
    seconds: (performance.now() - startedAtMs) / 1000,
    p50Us: latencies.percentile(0.5),
    p99Us: latencies.percentile(0.99),
    failures,
    loadCpuSeconds: (user + system) / 1e6,
  };
  console.log(JSON.stringify(result));
}
