import { randomUUID } from "node:crypto";
import { type Key, type Plan, quotaOf } from "../domain/key.ts";
import { type Allowance, decide, describeLimits, type KeyLimits } from "../domain/limits.ts";
import type { RateLimitDecision } from "../domain/rate-limit-decision.ts";
import { mergeUsage, noUsage, type Usage } from "../domain/usage.ts";
import type { CountedUsage, UsageSave, UsageStore } from "../domain/usage-store.ts";

/**
 * A crash may lose the counts of one second at most. Four saves a second leave time for a slow disk or a busy machine.
 * Source: docs/contract.md#limits
 */
const saveIntervalMs = 250;

/** The usage of an idle key stays in memory for this long at least, and twice as long at most. */
const idleMs = 5 * 60_000;

/** Counts the requests of each key in memory, and saves the counts to the store. */
export interface KeyRateLimiter {
  /** Whether a key's counts are in memory. Those of a key that was idle are not. */
  isLoaded(key: Key): boolean;
  /** Reads a key's counts from the store. */
  load(key: Key): Promise<void>;
  /** Decides on a request, and charges it. The key's counts must be in memory. */
  decide(key: Key): RateLimitDecision;
  /** Describes a key's limits, and charges nothing. It counts as the key's last use. Otherwise as `decide`. */
  describe(key: Key): KeyLimits;
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

  function use(entry: CachedUsage): number {
    entry.lastUsedAtMs = clock();
    cache.markChanged(entry);
    return entry.lastUsedAtMs;
  }
  function entryOf(key: Key): CachedUsage {
    const entry = cache.find(key.id);
    if (entry === undefined) {
      throw new Error("the counts of a key are not in memory");
    }
    return entry;
  }

  // One save at a time: a slow store is not asked twice.
  let saving = Promise.resolve();
  const saveTimer = setInterval(() => {
    saving = saving.then(() => cache.save()).catch(report);
  }, saveIntervalMs);
  const idleTimer = setInterval(() => cache.forgetIdle(), idleMs);

  return {
    isLoaded: (key) => cache.find(key.id) !== undefined,

    load: async (key) => void (await cache.load(key.id)),

    decide(key) {
      const entry = entryOf(key);
      const decision = decide(entry.usage, allowanceOf(key), use(entry));
      entry.usage = decision.usage;
      decided?.(decision, key.plan);
      return decision;
    },

    describe(key) {
      const entry = entryOf(key);
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

/** The usage of one key in memory. */
export interface CachedUsage {
  readonly keyId: string;
  /** What the store holds, as far as this server knows. */
  base: Usage;
  usage: Usage;
  lastUsedAtMs: number;
  /** When the key last called each deprecated method; undefined when it has called none since it was loaded. */
  deprecatedCalls?: Map<string, number>;
}

/**
 * Keeps the usage of keys in use, and saves what has changed. An entry that is not read between two calls of
 * `forgetIdle` is dropped by the second, unless it is unsaved: so nobody has to search the whole cache.
 */
export class UsageCache {
  readonly #store: UsageStore;
  /** One for each run of a server: see `UsageSave`. */
  readonly #server = randomUUID();
  #saves = 0;
  #current = new Map<string, CachedUsage>();
  #previous = new Map<string, CachedUsage>();
  #unsaved = new Map<string, CachedUsage>();
  /** The save that the store has not taken yet. */
  #pending: PendingSave | undefined;

  constructor(store: UsageStore) {
    this.#store = store;
  }

  /** Undefined when the usage of the key has to be loaded. */
  find(keyId: string): CachedUsage | undefined {
    const entry = this.#current.get(keyId);
    if (entry !== undefined) {
      return entry;
    }
    const older = this.#previous.get(keyId) ?? this.#unsaved.get(keyId) ?? this.#pending?.entries.get(keyId);
    if (older !== undefined) {
      this.#current.set(keyId, older);
    }
    return older;
  }

  async load(keyId: string): Promise<CachedUsage> {
    const base = (await this.#store.loadUsage(keyId)) ?? noUsage;
    // Another request of the key may have loaded it meanwhile, and counted.
    const found = this.find(keyId);
    if (found !== undefined) {
      return found;
    }
    const entry = { keyId, base, usage: base, lastUsedAtMs: 0 };
    this.#current.set(keyId, entry);
    return entry;
  }

  /** Has the next save include an entry. */
  markChanged(entry: CachedUsage): void {
    this.#unsaved.set(entry.keyId, entry);
  }

  forgetIdle(): void {
    this.#previous = this.#current;
    this.#current = new Map();
  }

  /**
   * Saves what has changed by now. A save that has failed may have taken effect: it is repeated as it was, before the
   * next.
   */
  async save(): Promise<void> {
    await this.#sendPending();
    if (this.#unsaved.size > 0) {
      this.#pending = this.#takeUnsaved();
      await this.#sendPending();
    }
  }

  async #sendPending(): Promise<void> {
    if (this.#pending === undefined) {
      return;
    }
    const { entries, save } = this.#pending;
    const foreign = await this.#store.saveUsage(save);
    for (const { keyId, usage } of save.usages) {
      rebase(entries.get(keyId) as CachedUsage, usage, foreign.get(keyId) ?? usage);
    }
    this.#pending = undefined;
  }

  #takeUnsaved(): PendingSave {
    const entries = this.#unsaved;
    this.#unsaved = new Map();
    this.#saves += 1;
    return {
      entries,
      save: { server: this.#server, number: this.#saves, usages: [...entries.values()].map(toCounted) },
    };
  }
}

interface PendingSave {
  readonly entries: ReadonlyMap<string, CachedUsage>;
  readonly save: UsageSave;
}

function toCounted({ keyId, base, usage, lastUsedAtMs, deprecatedCalls }: CachedUsage): CountedUsage {
  return { keyId, base, usage, lastUsedAtMs, deprecatedCalls: deprecatedCalls && new Map(deprecatedCalls) };
}

/** Has an entry go on from what is stored now, with what was counted since the save was sent. */
function rebase(entry: CachedUsage, sent: Usage, stored: Usage): void {
  entry.usage = mergeUsage(stored, { base: sent, usage: entry.usage, atMs: entry.lastUsedAtMs });
  entry.base = stored;
}
