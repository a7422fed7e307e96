import { type Key, quotaOf } from "../domain/key.ts";
import { type Allowance, decide, describeLimits, type KeyLimits, noUsage, type Usage } from "../domain/limits.ts";
import type { RateLimitDecision } from "../domain/rate-limit-decision.ts";
import type { UsageStore } from "../domain/store.ts";
import { TwoGenerationCache } from "./two-generation-cache.ts";

/**
 * A crash may forget one second of counting: to save four times in it leaves room for a slow disk, or a busy machine.
 * Source: docs/contract.md#limits
 */
const saveIntervalMs = 250;

/** For so long at least, and twice as long at most, the usage of a key that is not used is kept in memory. */
const idleMs = 5 * 60_000;

/** Counts the requests that are made with keys, in memory, and has the store keep the counts. */
export interface KeyRateLimiter {
  /** Judges and charges a request. It waits only for what the store knows of a key that was idle. */
  decide(key: Key): RateLimitDecision | Promise<RateLimitDecision>;
  /** Tells how a key stands, and charges nothing; but it counts as the key's last use. It waits as `decide` does. */
  describe(key: Key): KeyLimits | Promise<KeyLimits>;
  /** Notes that a key which was judged has called a deprecated method, which is told by its full name. */
  noteDeprecatedCall(key: Key, method: string): void;
  /** Counts no more, and resolves when the store has all counts. */
  close(): Promise<void>;
}

/** What a limiter stands on. `report` hears of counts that the store did not take; they are offered again. */
export interface KeyRateLimiterOptions {
  readonly store: UsageStore;
  readonly clock: () => number;
  readonly report: (reason: unknown) => void;
}

interface Entry {
  readonly keyId: string;
  usage: Usage;
  lastUsedAtMs: number;
  /** When the key last called each deprecated method; undefined when it has called none since it was loaded. */
  deprecatedCalls?: Map<string, number>;
}

/** Makes a limiter, which saves what it has counted at short intervals. */
export function createKeyRateLimiter({ store, clock, report }: KeyRateLimiterOptions): KeyRateLimiter {
  const entries = new TwoGenerationCache<Entry>();
  let unsaved = new Map<string, Entry>();

  function charge(entry: Entry, key: Key): RateLimitDecision {
    const nowMs = use(entry);
    const decision = decide(entry.usage, allowanceOf(key), nowMs);
    entry.usage = decision.usage;
    return decision;
  }

  /** Notes that a key is used now, and returns the time. */
  function use(entry: Entry): number {
    entry.lastUsedAtMs = clock();
    unsaved.set(entry.keyId, entry);
    return entry.lastUsedAtMs;
  }

  async function load(keyId: string): Promise<Entry> {
    const usage = (await store.loadUsage(keyId)) ?? noUsage;
    // Another request of the same key may have loaded it meanwhile, and counted.
    return find(keyId) ?? entries.set(keyId, { keyId, usage, lastUsedAtMs: 0 });
  }

  function find(keyId: string): Entry | undefined {
    return entries.get(keyId) ?? unsaved.get(keyId);
  }

  async function save(): Promise<void> {
    const saving = unsaved;
    unsaved = new Map();
    try {
      await store.saveUsage(saving.values());
    } catch (reason) {
      unsaved = new Map([...saving, ...unsaved]);
      report(reason);
    }
  }

  // One save at a time: a slow store must not be asked twice.
  let saving = Promise.resolve();
  const saveTimer = setInterval(() => {
    saving = saving.then(() => (unsaved.size > 0 ? save() : undefined));
  }, saveIntervalMs);
  const idleTimer = setInterval(() => entries.forgetIdle(), idleMs);

  return {
    decide(key) {
      const entry = find(key.id);
      return entry === undefined ? load(key.id).then((loaded) => charge(loaded, key)) : charge(entry, key);
    },

    describe(key) {
      const describeEntry = (entry: Entry) => {
        const limits = describeLimits(entry.usage, allowanceOf(key), use(entry));
        return { plan: key.plan, ...limits };
      };
      const entry = find(key.id);
      return entry === undefined ? load(key.id).then(describeEntry) : describeEntry(entry);
    },

    noteDeprecatedCall(key, method) {
      const entry = find(key.id);
      if (entry !== undefined) {
        entry.deprecatedCalls ??= new Map();
        entry.deprecatedCalls.set(method, clock());
        unsaved.set(entry.keyId, entry);
      }
    },

    async close() {
      clearInterval(saveTimer);
      clearInterval(idleTimer);
      await saving;
      await save();
    },
  };
}

function allowanceOf(key: Key): Allowance {
  return { quota: quotaOf(key), unbans: key.unbans };
}
