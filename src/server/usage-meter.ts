import { type Key, quotaOf } from "../domain/key.ts";
import { judge, noUsage, type Usage } from "../domain/limits.ts";
import type { UsageStore } from "../domain/store.ts";
import { judgeStranger } from "../domain/stranger.ts";
import type { Window } from "../domain/window.ts";
import { clientNetwork } from "../http/client-address.ts";
import type { Meter } from "../interceptors/limits.ts";

/** Twice within the second of counting that a crash may forget. Source: the contract, Limits. */
const flushIntervalMs = 500;

/** So long after its last use the usage of a key is kept in the store alone. */
const idleMs = 10 * 60_000;

/** The most addresses that are counted at a time, some 20 MB. Past it those counted for longest are forgotten. */
const maxStrangers = 100_000;

/** Counts requests in memory, and has the store keep the counts. */
export interface UsageMeter extends Meter {
  /** Counts on no more, and resolves when the store has all counts. */
  close(): Promise<void>;
}

interface Entry {
  usage: Usage;
  lastUsedAtMs: number;
}

/** What a meter stands on. `report` hears of counts that the store did not take; they are offered again. */
export interface UsageMeterOptions {
  readonly store: UsageStore;
  readonly clock: () => number;
  readonly report: (reason: unknown) => void;
}

export function createUsageMeter({ store, clock, report }: UsageMeterOptions): UsageMeter {
  const entries = new Map<string, Entry>();
  const unsaved = new Set<string>();
  const strangers = new Map<string, Window>();

  async function load(keyId: string): Promise<Entry> {
    const loaded = { usage: (await store.loadUsage(keyId)) ?? noUsage, lastUsedAtMs: 0 };
    // Another request of the same key may have loaded it meanwhile, and counted.
    const entry = entries.get(keyId) ?? loaded;
    entries.set(keyId, entry);
    return entry;
  }

  async function save(): Promise<void> {
    const keyIds = [...unsaved];
    unsaved.clear();
    try {
      await store.saveUsage(keyIds.map((keyId) => ({ keyId, ...(entries.get(keyId) as Entry) })));
    } catch (reason) {
      for (const keyId of keyIds) {
        unsaved.add(keyId);
      }
      report(reason);
    }
  }

  function forgetIdle(nowMs: number): void {
    for (const [keyId, { lastUsedAtMs }] of entries) {
      if (nowMs - lastUsedAtMs > idleMs && !unsaved.has(keyId)) {
        entries.delete(keyId);
      }
    }
  }

  async function flush(): Promise<void> {
    if (unsaved.size > 0) {
      await save();
    }
    forgetIdle(clock());
  }

  // One flush at a time: a slow store must not be asked twice.
  let flushing = Promise.resolve();
  const timer = setInterval(() => {
    flushing = flushing.then(flush);
  }, flushIntervalMs);

  return {
    async judgeKey(key: Key) {
      const { id, unbans } = key;
      const entry = entries.get(id) ?? (await load(id));
      const nowMs = clock();
      const verdict = judge(entry.usage, { quota: quotaOf(key), unbans }, nowMs);
      entry.usage = verdict.usage;
      entry.lastUsedAtMs = nowMs;
      unsaved.add(id);
      return verdict;
    },

    judgeStranger(address) {
      const network = clientNetwork(address);
      const verdict = judgeStranger(strangers.get(network), clock());
      // Put in anew, so that the map's order is that of the last requests.
      strangers.delete(network);
      strangers.set(network, verdict.window);
      if (strangers.size > maxStrangers) {
        strangers.delete(strangers.keys().next().value as string);
      }
      return verdict;
    },

    async close() {
      clearInterval(timer);
      await flushing;
      await flush();
    },
  };
}
