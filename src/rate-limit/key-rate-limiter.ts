import { type Key, quotaOf } from "../domain/key.ts";
import { type Allowance, decide, describeLimits, type KeyLimits } from "../domain/limits.ts";
import type { RateLimitDecision } from "../domain/rate-limit-decision.ts";
import type { UsageStore } from "../domain/usage-store.ts";
import { type CachedUsage, UsageCache } from "./usage-cache.ts";

/**
 * A crash may lose the counts of one second at most. Four saves a second leave time for a slow disk or a busy machine.
 * Source: docs/contract.md#limits
 */
const saveIntervalMs = 250;

/** The usage of an idle key stays in memory for this long at least, and twice as long at most. */
const idleMs = 5 * 60_000;

/** Counts the requests of each key in memory, and saves the counts to the store. */
export interface KeyRateLimiter {
  /** Decides on a request, and charges it. Waits for the store only for a key that was idle. */
  decide(key: Key): Promise<RateLimitDecision>;
  /** Describes a key's limits, and charges nothing. It counts as the key's last use. Waits as `decide` does. */
  describe(key: Key): Promise<KeyLimits>;
  /** Records that a key has called a deprecated method, given by its full name. The key has been decided on before. */
  noteDeprecatedCall(key: Key, method: string): void;
  /** Counts no more, and resolves when the store has all counts. */
  close(): Promise<void>;
}

/** What the limiter needs. */
export interface KeyRateLimiterOptions {
  readonly store: UsageStore;
  readonly clock: () => number;
  /** Hears why the store has not taken the counts. They are saved again. */
  readonly report: (reason: unknown) => void;
}

/** Creates a limiter that saves its counts at short intervals. */
export function createKeyRateLimiter({ store, clock, report }: KeyRateLimiterOptions): KeyRateLimiter {
  const cache = new UsageCache(store);

  function use(entry: CachedUsage): number {
    entry.lastUsedAtMs = clock();
    cache.markChanged(entry);
    return entry.lastUsedAtMs;
  }

  // One save at a time: a slow store is not asked twice.
  let saving = Promise.resolve();
  const saveTimer = setInterval(() => {
    saving = saving.then(() => cache.save()).catch(report);
  }, saveIntervalMs);
  const idleTimer = setInterval(() => cache.forgetIdle(), idleMs);

  return {
    async decide(key) {
      const entry = cache.find(key.id) ?? (await cache.load(key.id));
      const decision = decide(entry.usage, allowanceOf(key), use(entry));
      entry.usage = decision.usage;
      return decision;
    },

    async describe(key) {
      const entry = cache.find(key.id) ?? (await cache.load(key.id));
      return { plan: key.plan, ...describeLimits(entry.usage, allowanceOf(key), use(entry)) };
    },

    noteDeprecatedCall(key, method) {
      const entry = cache.find(key.id);
      if (entry !== undefined) {
        entry.deprecatedCalls ??= new Map();
        entry.deprecatedCalls.set(method, clock());
        cache.markChanged(entry);
      }
    },

    async close() {
      clearInterval(saveTimer);
      clearInterval(idleTimer);
      await saving;
      await cache.save().catch(report);
    },
  };
}

function allowanceOf(key: Key): Allowance {
  return { quota: quotaOf(key), unbans: key.unbans };
}
