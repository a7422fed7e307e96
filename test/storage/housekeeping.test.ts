import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { type Housekeeping, startHousekeeping } from "../../src/storage/housekeeping.ts";

const day = 86_400_000;
const nowMs = 100 * day;
const minute = 60_000;

let housekeeping: Housekeeping | undefined;
let steps: { keptSinceMs: number; nowMs: number }[];
let failures: unknown[];

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  steps = [];
  failures = [];
});

afterEach(async () => {
  await housekeeping?.close();
  vi.useRealTimers();
});

/** Starts with a store that has as many steps of work, then none. */
function start(work: number, historyRetentionMs = 90 * day, fail?: () => void): void {
  let left = work;
  housekeeping = startHousekeeping({
    historyRetentionMs,
    clock: () => nowMs,
    report: (reason) => failures.push(reason),
    store: {
      async deleteOutdated(keptSinceMs, nowMs) {
        steps.push({ keptSinceMs, nowMs });
        fail?.();
        left -= 1;
        return left > 0;
      },
    },
  });
}

it("deletes in steps until nothing is left, and looks again a minute later", async () => {
  start(3);
  await vi.advanceTimersByTimeAsync(0);
  expect(steps).toHaveLength(1);
  await vi.advanceTimersByTimeAsync(1_000);
  expect(steps).toHaveLength(3);
  await vi.advanceTimersByTimeAsync(minute);
  expect(steps).toHaveLength(4);
});

it("leaves the store to others between two steps", async () => {
  start(1_000);
  await vi.advanceTimersByTimeAsync(1_000);
  expect(steps.length).toBeGreaterThan(10);
  expect(steps.length).toBeLessThan(30);
});

it("goes on faster the longer there is work, so that it keeps up", async () => {
  start(10_000);
  await vi.advanceTimersByTimeAsync(10_000);
  const { length } = steps;
  await vi.advanceTimersByTimeAsync(1_000);
  expect(steps.length - length).toBe(100);
});

it.each([
  ["90 days", 90 * day, 10 * day - minute],
  ["no time at all", 0, nowMs - minute],
  ["ever", Infinity, 0],
])("keeps the history for %s, and a minute longer", async (_title, retentionMs, keptSinceMs) => {
  start(1, retentionMs);
  await vi.advanceTimersByTimeAsync(0);
  expect(steps).toEqual([{ keptSinceMs, nowMs }]);
});

it("reports a failure, and tries again a minute later", async () => {
  start(1, 0, () => {
    if (steps.length === 1) {
      throw new Error("the disk failed");
    }
  });
  await vi.advanceTimersByTimeAsync(minute - 1);
  expect([steps.length, failures.length]).toEqual([1, 1]);
  await vi.advanceTimersByTimeAsync(1);
  expect([steps.length, failures.length]).toEqual([2, 1]);
});

it("does nothing more once it is closed", async () => {
  start(1_000);
  await vi.advanceTimersByTimeAsync(100);
  await housekeeping?.close();
  const { length } = steps;
  await vi.advanceTimersByTimeAsync(10 * minute);
  expect(steps).toHaveLength(length);
  expect(failures).toEqual([]);
});
