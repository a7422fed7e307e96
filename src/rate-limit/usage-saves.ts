import type { UsageCache } from "./usage-cache.ts";

/**
 * A crash may lose the counts of one second at most. Four saves a second leave time for a slow disk or a busy machine.
 * Source: docs/contract.md#limits
 */
const saveIntervalMs = 250;

/** The usage of an idle key stays in memory for this long at least, and twice as long at most. */
const idleMs = 5 * 60_000;

/** The saving of a cache. */
export interface UsageSaves {
  /** Saves what is left, and no more after that. */
  close(): Promise<void>;
}

/** Saves what changes in a cache at short intervals. `report` hears why a save has failed. It is repeated. */
export function saveRegularly(cache: UsageCache, report: (reason: unknown) => void): UsageSaves {
  // One save at a time: a slow store is not asked twice.
  let saving = Promise.resolve();
  const saveTimer = setInterval(() => {
    saving = saving.then(() => cache.save()).catch(report);
  }, saveIntervalMs);
  const idleTimer = setInterval(() => cache.forgetIdle(), idleMs);
  return {
    async close() {
      clearInterval(saveTimer);
      clearInterval(idleTimer);
      await saving;
      await cache.save().catch(report);
    },
  };
}
