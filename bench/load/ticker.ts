/** A thread that posts a message at each tick. Node's timers have steps of 1 ms, which is too coarse. */
import { parentPort, workerData } from "node:worker_threads";
import type { Schedule } from "./schedule.ts";

const { ticksPerSecond } = workerData as Schedule;
const cell = new Int32Array(new SharedArrayBuffer(4));
for (;;) {
  Atomics.wait(cell, 0, 0, 1000 / ticksPerSecond);
  parentPort?.postMessage(undefined);
}
