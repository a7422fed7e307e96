import type { Key, Plan } from "../domain/key.ts";
import {
  type Allowance,
  decide,
  describeLimits,
  type KeyLimits,
  quotaOf,
  type RateLimitDecision,
} from "../domain/limits.ts";
import type { UsageStore } from "../domain/store/key-store.ts";
import { type CachedUsage, UsageCache } from "./usage-cache.ts";
import { saveRegularly } from "./usage-saves.ts";

/** Counts the requests of each key, here or in Valkey, and saves to the store what it has counted. */
export interface KeyRateLimiter {
  /** Decides on a request, and charges it. Undefined where the key's counts are not in memory. */
  decideNow(key: Key): RateLimitDecision | undefined;
  /** As `decideNow`, once the counts are in memory. Rejects when the store cannot be read. */
  decide(key: Key): Promise<RateLimitDecision>;
  /** Describes a key's limits, and charges nothing. It counts as the key's last use. Otherwise as `decideNow`. */
  describeNow(key: Key): KeyLimits | undefined;
  /** As `describeNow`, once the counts are in memory. Rejects when the store cannot be read. */
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
  /** Hears each decision, with the plan of its key. */
  readonly decided?: (decision: RateLimitDecision, plan: Plan) => void;
  /** Hears why the store has not taken the counts. They are saved again. */
  readonly report: (reason: unknown) => void;
}

/** Creates a limiter that saves its counts at short intervals. */
export function createKeyRateLimiter({ store, clock, decided, report }: KeyRateLimiterOptions): KeyRateLimiter {
  const cache = new UsageCache(store);
  const saves = saveRegularly(cache, report);

  function use(entry: CachedUsage): number {
    entry.lastUsedAtMs = clock();
    cache.markChanged(entry);
    return entry.lastUsedAtMs;
  }
  function decideOn(entry: CachedUsage, key: Key): RateLimitDecision {
    const nowMs = use(entry);
    const decision = decide(entry.usage, allowanceOf(key), nowMs);
    entry.usage = decision.usage;
    decided?.(decision, key.plan);
    return decision;
  }
  function describeOf(entry: CachedUsage, key: Key): KeyLimits {
    return { plan: key.plan, ...describeLimits(entry.usage, allowanceOf(key), use(entry)) };
  }

  return {
    decideNow(key) {
      const entry = cache.find(key.id);
      return entry && decideOn(entry, key);
    },

    decide: async (key) => decideOn(await cache.load(key.id), key),

    describeNow(key) {
      const entry = cache.find(key.id);
      return entry && describeOf(entry, key);
    },

    describe: async (key) => describeOf(await cache.load(key.id), key),

    noteDeprecatedCall: (key, method) => cache.noteDeprecatedCall(key.id, method, clock()),

    close: () => saves.close(),
  };
}

/** What a key is allowed to do. */
export function allowanceOf(key: Key): Allowance {
  return { quota: quotaOf(key), unbans: key.unbans };
}
