import { randomUUID } from "node:crypto";
import { noUsage, type Usage } from "../domain/limits.ts";
import type { CountedUsage, UsageSave, UsageStore } from "../domain/store.ts";
import { mergeUsage, type UsageChange } from "../domain/usage-merge.ts";

/** The usage of one key in memory. */
export interface CachedUsage {
  readonly keyId: string;
  /** What the store holds, as far as this server knows. */
  base: Usage;
  usage: Usage;
  /** The usage over all servers as this one last saw it; undefined if it has seen none, or counts alone. */
  shared?: Usage;
  lastUsedAtMs: number;
  /** When the key last called each deprecated method; undefined when it has called none since it was loaded. */
  deprecatedCalls?: Map<string, number>;
}

/**
 * Keeps the usage of keys in use, and saves what has changed. The entries are in two generations: `forgetIdle` drops the
 * older one, and a read moves an entry to the newer one. Unsaved entries stay.
 */
export class UsageCache {
  readonly #store: UsageStore;
  /** Identifies this run of the server: see `UsageSave`. */
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

  /**
   * Finds the usage of a key, and records that the key is used. The next save includes this. Undefined when the usage
   * has to be loaded.
   */
  use(keyId: string, nowMs: number): CachedUsage | undefined {
    const entry = this.find(keyId);
    if (entry !== undefined) {
      entry.lastUsedAtMs = nowMs;
      this.#unsaved.set(keyId, entry);
    }
    return entry;
  }

  /** Finds the usage of a key. Undefined when it has to be loaded. */
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

  /** Finds the usage of a key, or reads it from the store. Rejects when the store cannot be read. */
  async load(keyId: string): Promise<CachedUsage> {
    const cached = this.find(keyId);
    if (cached !== undefined) {
      return cached;
    }
    const base = (await this.#store.loadUsage(keyId)) ?? noUsage;
    // Another request of the key may have loaded it meanwhile, and counted.
    const found = this.find(keyId);
    if (found !== undefined) {
      return found;
    }
    return this.#add(keyId, base);
  }

  /**
   * Adds to a key's usage what was counted elsewhere: the change from `base` to `usage`. The usage need not have been
   * loaded, because the store adds the change to what it has.
   */
  note(keyId: string, change: UsageChange): void {
    const entry = this.find(keyId) ?? this.#add(keyId, noUsage);
    entry.usage = mergeUsage(entry.usage, change);
    entry.shared = change.usage;
    entry.lastUsedAtMs = change.atMs;
    this.#unsaved.set(keyId, entry);
  }

  #add(keyId: string, base: Usage): CachedUsage {
    const entry = { keyId, base, usage: base, lastUsedAtMs: 0 };
    this.#current.set(keyId, entry);
    return entry;
  }

  /** Records when a key has called a deprecated method, given by its full name. Ignores a key that is not in memory. */
  noteDeprecatedCall(keyId: string, method: string, atMs: number): void {
    const entry = this.find(keyId);
    if (entry !== undefined) {
      entry.deprecatedCalls ??= new Map();
      entry.deprecatedCalls.set(method, atMs);
      this.#unsaved.set(keyId, entry);
    }
  }

  forgetIdle(): void {
    this.#previous = this.#current;
    this.#current = new Map();
  }

  /**
   * Saves what has changed by now. A failed save may have taken effect. So it is repeated unchanged before the next
   * one.
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
    const differing = await this.#store.saveUsage(save);
    for (const { keyId, usage } of save.usages) {
      rebase(entries.get(keyId) as CachedUsage, usage, differing.get(keyId) ?? usage);
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

/** Rebases an entry on what is stored now, and keeps what was counted since the save was sent. */
function rebase(entry: CachedUsage, sent: Usage, stored: Usage): void {
  entry.usage = mergeUsage(stored, { base: sent, usage: entry.usage, atMs: entry.lastUsedAtMs });
  entry.base = stored;
}

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

/**
 * Saves what changes in a cache at short intervals. `report` is called with the reason when a save fails. The save is
 * repeated.
 */
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
