import { randomUUID } from "node:crypto";
import { type Key, quotaOf } from "../domain/key.ts";
import { type Allowance, decide, describeLimits, type KeyLimits } from "../domain/limits.ts";
import type { RateLimitDecision } from "../domain/rate-limit-decision.ts";
import { mergeUsage, noUsage, type Usage } from "../domain/usage.ts";
import type { CountedUsage, UsageSave, UsageStore } from "../domain/usage-store.ts";
import { TwoGenerationCache } from "./two-generation-cache.ts";

/**
 * A crash may forget one second of counting: to save four times in it leaves room for a slow disk, or a busy machine.
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

interface Entry {
  readonly keyId: string;
  /** What the store holds, as far as this server knows. */
  base: Usage;
  usage: Usage;
  lastUsedAtMs: number;
  /** When the key last called each deprecated method; undefined when it has called none since it was loaded. */
  deprecatedCalls?: Map<string, number>;
}

/** Creates a limiter that saves its counts at short intervals. */
export function createKeyRateLimiter({ store, clock, report }: KeyRateLimiterOptions): KeyRateLimiter {
  const entries = new TwoGenerationCache<Entry>();
  const unsaved = new UnsavedUsage();

  function use(entry: Entry): number {
    entry.lastUsedAtMs = clock();
    unsaved.add(entry);
    return entry.lastUsedAtMs;
  }

  async function load(keyId: string): Promise<Entry> {
    const base = (await store.loadUsage(keyId)) ?? noUsage;
    // Another request of the key may have loaded it meanwhile, and counted.
    return find(keyId) ?? entries.set(keyId, { keyId, base, usage: base, lastUsedAtMs: 0 });
  }

  function find(keyId: string): Entry | undefined {
    return entries.get(keyId) ?? unsaved.find(keyId);
  }

  // One save at a time: a slow store is not asked twice.
  let saving = Promise.resolve();
  const saveTimer = setInterval(() => {
    saving = saving.then(() => unsaved.saveTo(store)).catch(report);
  }, saveIntervalMs);
  const idleTimer = setInterval(() => entries.forgetIdle(), idleMs);

  return {
    async decide(key) {
      const entry = find(key.id) ?? (await load(key.id));
      const decision = decide(entry.usage, allowanceOf(key), use(entry));
      entry.usage = decision.usage;
      return decision;
    },

    async describe(key) {
      const entry = find(key.id) ?? (await load(key.id));
      return { plan: key.plan, ...describeLimits(entry.usage, allowanceOf(key), use(entry)) };
    },

    noteDeprecatedCall(key, method) {
      const entry = find(key.id);
      if (entry !== undefined) {
        entry.deprecatedCalls ??= new Map();
        entry.deprecatedCalls.set(method, clock());
        unsaved.add(entry);
      }
    },

    async close() {
      clearInterval(saveTimer);
      clearInterval(idleTimer);
      await saving;
      // The first may repeat a save that has failed.
      await unsaved
        .saveTo(store)
        .then(() => unsaved.saveTo(store))
        .catch(report);
    },
  };
}

/** The entries whose counts the store does not have yet. */
class UnsavedUsage {
  /** One for each run of a server: see `UsageSave`. */
  readonly #server = randomUUID();
  #number = 0;
  #entries = new Map<string, Entry>();
  /** What is being saved, until the store has taken it. */
  #save: { readonly entries: ReadonlyMap<string, Entry>; readonly sent: UsageSave } | undefined;

  add(entry: Entry): void {
    this.#entries.set(entry.keyId, entry);
  }

  find(keyId: string): Entry | undefined {
    return this.#entries.get(keyId) ?? this.#save?.entries.get(keyId);
  }

  /** Saves what there is. A save that has failed may have taken effect: the next call repeats it. */
  async saveTo(store: UsageStore): Promise<void> {
    this.#save ??= this.#takeSave();
    if (this.#save === undefined) {
      return;
    }
    const { entries, sent } = this.#save;
    const merged = await store.saveUsage(sent);
    for (const { keyId, usage } of sent.usages) {
      rebase(entries.get(keyId) as Entry, usage, merged.get(keyId) ?? usage);
    }
    this.#save = undefined;
  }

  #takeSave() {
    if (this.#entries.size === 0) {
      return undefined;
    }
    const entries = this.#entries;
    this.#entries = new Map();
    this.#number += 1;
    const usages = [...entries.values()].map(countedUsageOf);
    return { entries, sent: { server: this.#server, number: this.#number, usages } };
  }
}

function countedUsageOf({ keyId, base, usage, lastUsedAtMs, deprecatedCalls }: Entry): CountedUsage {
  return { keyId, base, usage, lastUsedAtMs, deprecatedCalls: deprecatedCalls && new Map(deprecatedCalls) };
}

/** Has an entry go on from what is stored now, with what was counted since the save was sent. */
function rebase(entry: Entry, sent: Usage, stored: Usage): void {
  entry.usage = mergeUsage(stored, { base: sent, usage: entry.usage, atMs: entry.lastUsedAtMs });
  entry.base = stored;
}

function allowanceOf(key: Key): Allowance {
  return { quota: quotaOf(key), unbans: key.unbans };
}
