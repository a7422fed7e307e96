import { setTimeout } from "node:timers/promises";
import { keptSinceMs } from "../domain/retention.ts";
import type { StockStore } from "../domain/stock-store.ts";

/** How often the store is looked through, in milliseconds. */
const intervalMs = 60_000;

/** How long the store is left to others between two steps, in milliseconds. */
const pauseMs = 50;

/**
 * How much longer things are kept than they are shown, in milliseconds. So nothing is deleted that a request has found to
 * be kept, nor what a list needs that takes a while to send.
 */
const marginMs = 60_000;

/** What housekeeping needs. */
export interface HousekeepingOptions {
  readonly store: Pick<StockStore, "deleteOutdated">;
  readonly historyRetentionMs: number;
  readonly clock: () => number;
  /** Told of failures. The work is taken up again at the next interval. */
  readonly report: (reason: unknown) => void;
}

/** Deletes what is past its time, in small steps, until it is closed. */
export interface Housekeeping {
  /** Stops, and resolves when no step is under way. */
  close(): Promise<void>;
}

/** Starts to look through the store, at once and at every interval. */
export function startHousekeeping({ store, historyRetentionMs, clock, report }: HousekeepingOptions): Housekeeping {
  const stopped = new AbortController();

  async function deleteAll(): Promise<void> {
    let hasMore = true;
    while (hasMore) {
      const nowMs = clock();
      hasMore = await store.deleteOutdated(keptSinceMs(historyRetentionMs, nowMs - marginMs), nowMs);
      await pause(hasMore ? pauseMs : intervalMs);
    }
  }
  /** Rejects when housekeeping is to stop. A pause does not keep the process alive. */
  function pause(ms: number): Promise<unknown> {
    return setTimeout(ms, undefined, { signal: stopped.signal, ref: false });
  }
  async function work(): Promise<void> {
    while (!stopped.signal.aborted) {
      try {
        await deleteAll();
      } catch (reason) {
        if (!stopped.signal.aborted) {
          report(reason);
        }
        await pause(intervalMs).catch(() => {});
      }
    }
  }

  const working = work();
  return {
    async close() {
      stopped.abort();
      await working;
    },
  };
}
