/**
 * Runs within a server on Node, and tells the bench how much the server allocates and how long its garbage collector
 * stops it. It does nothing until it is asked.
 *
 *     node --import ./bench/probe/in-server.ts SERVER
 */
import { PerformanceObserver } from "node:perf_hooks";
import { getHeapStatistics, setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import type { Worker } from "node:worker_threads";

/** What a server on Node has done since it started, or was asked for the last time. */
export interface NodeReading {
  /** On the heaps of all threads, since the start. */
  readonly allocatedBytes: number;
  /** The longest pause of the main thread since the last reading, in ms. */
  readonly longestPauseMs: number;
  /** Of the main thread's objects and buffers, after a garbage collection, where one was asked for. */
  readonly keptBytes: number;
}

/** What is asked of the probe: a reading as it is, or one after a garbage collection. */
export type ProbeQuestion = "read" | "collect";

const workers = new Set<Worker>();
process.on("worker", (worker) => {
  workers.add(worker);
  worker.once("exit", () => workers.delete(worker));
});

let longestPauseMs = 0;
const pauses = new PerformanceObserver((list) => notePauses(list.getEntries()));

process.on("message", (question: ProbeQuestion) => void answer(question));
// The server ends when it would without the bench.
process.channel?.unref();

async function answer(question: ProbeQuestion): Promise<void> {
  notePauses(pauses.takeRecords());
  if (question === "collect") {
    setFlagsFromString("--expose-gc");
    runInNewContext("gc")();
  }
  const { heapUsed, external } = process.memoryUsage();
  const allocatedBytes = await readAllocatedBytes();
  const reading: NodeReading = { allocatedBytes, longestPauseMs, keptBytes: heapUsed + external };
  longestPauseMs = 0;
  pauses.observe({ entryTypes: ["gc"] });
  process.send?.(reading);
}

function notePauses(entries: readonly { readonly duration: number }[]): void {
  for (const { duration } of entries) {
    longestPauseMs = Math.max(longestPauseMs, duration);
  }
}

async function readAllocatedBytes(): Promise<number> {
  const heaps = await Promise.all([...workers].map((worker) => worker.getHeapStatistics()));
  return [getHeapStatistics(), ...heaps].reduce(
    (bytes, heap) => bytes + (heap as { total_allocated_bytes: number }).total_allocated_bytes,
    0,
  );
}
