import type { ChangeTokens, ChangeTopic, Store } from "../domain/store.ts";

/** How often the store is asked: changes by others must be seen within a second. Source: docs/contract.md#keys */
const intervalMs = 250;

/** How many intervals a question may stay open before all topics count as changed. */
const maxOpenIntervals = 3;

/** Tells when others may have changed data of the store, so that a cache of it is out of date. */
export interface ExternalChangeWatcher {
  /** Calls back within a second of a change; and once at the beginning, when nobody knows what has been before. */
  subscribe(topic: ChangeTopic, listener: () => void): void;
  /** Stops asking, and resolves when no question is open. */
  close(): Promise<void>;
}

/**
 * Asks the store for its tokens at short intervals. When it fails, or is too late for a change to be seen within a
 * second, all topics count as changed.
 */
export function watchExternalChanges(store: Pick<Store, "changeTokens">): ExternalChangeWatcher {
  const listeners: Record<ChangeTopic, (() => void)[]> = { keys: [], stock: [], usage: [] };
  const topics = Object.keys(listeners) as ChangeTopic[];
  let known: ChangeTokens | undefined;
  let asking: Promise<void> | undefined;
  let openIntervals = 0;

  async function ask(): Promise<void> {
    const tokens = await store.changeTokens().catch(() => undefined);
    const former = known;
    known = tokens;
    tell(topics.filter((topic) => tokens === undefined || tokens[topic] !== former?.[topic]));
  }
  function tell(changed: readonly ChangeTopic[]): void {
    for (const listener of changed.flatMap((topic) => listeners[topic])) {
      listener();
    }
  }
  // One question at a time: a slow store is not asked twice.
  function askOnce(): void {
    if (asking !== undefined) {
      openIntervals += 1;
      if (openIntervals >= maxOpenIntervals) {
        tell(topics);
      }
      return;
    }
    openIntervals = 0;
    asking = ask().finally(() => {
      asking = undefined;
    });
  }

  askOnce();
  const timer = setInterval(askOnce, intervalMs);
  return {
    subscribe: (topic, listener) => void listeners[topic].push(listener),
    async close() {
      clearInterval(timer);
      await asking;
    },
  };
}
