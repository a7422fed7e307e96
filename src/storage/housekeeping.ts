import { keptSinceMs } from "../domain/history.ts";
import type { StockStore } from "../domain/store.ts";

/** How often the store is looked through, in milliseconds. */
const intervalMs = 60_000;

/**
 * How long to pause between two steps, in milliseconds. Each step makes the pause shorter by one, down to the least. So
 * the work hardly delays others at first, and yet keeps up with the fastest writers.
 */
const pauseMs = 50;
const leastPauseMs = 10;

/**
 * How much longer rows are kept than they are shown, in milliseconds. So no row is deleted while a request still needs
 * it, such as a list that takes a while to send. What may be behind for longer, such as a watch, looks after each read
 * whether rows were deleted.
 */
export const deletionMarginMs = 60_000;

/** What housekeeping needs. */
interface HousekeepingOptions {
  readonly store: Pick<StockStore, "deleteOutdated">;
  readonly historyRetentionMs: number;
  readonly clock: () => number;
  /** Called when a step fails. The work goes on at the next interval. */
  readonly report: (reason: unknown) => void;
}

/** Deletes what is past its time, in small steps, until it is closed. */
export interface Housekeeping {
  /** Stops, and resolves when no step is under way. */
  close(): Promise<void>;
}

/** Starts to look through the store, at once and at every interval. */
export function startHousekeeping({ store, historyRetentionMs, clock, report }: HousekeepingOptions): Housekeeping {
  let isStopped = false;
  let wake = () => {};

  /** Resolves to whether there is more to delete. */
  async function step(): Promise<boolean> {
    const nowMs = clock();
    try {
      return await store.deleteOutdated(keptSinceMs(historyRetentionMs, nowMs - deletionMarginMs), nowMs);
    } catch (reason) {
      report(reason);
      return false;
    }
  }
  function pause(ms: number): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(resolve, ms);
    wake = () => {
      clearTimeout(timer);
      resolve();
    };
    return promise;
  }
  async function work(): Promise<void> {
    let steps = 0;
    while (!isStopped) {
      const hasMore = await step();
      steps = hasMore ? steps + 1 : 0;
      if (!isStopped) {
        await pause(hasMore ? Math.max(pauseMs - steps, leastPauseMs) : intervalMs);
      }
    }
  }

  const working = work();
  return {
    async close() {
      isStopped = true;
      wake();
      await working;
    },
  };
}
