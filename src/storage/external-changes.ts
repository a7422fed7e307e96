import type { Store } from "../domain/store.ts";

/** How often the store is asked: changes by others must be seen within a second. Source: docs/contract.md#keys */
const intervalMs = 250;

/** Tells when other processes may have written to the store, so that what was read before may no longer hold. */
export interface ExternalChangeWatcher {
  /** Calls back within a second of such a write; and at the beginning, when nobody knows what has been before. */
  subscribe(listener: () => void): void;
  /** Asks no more, and resolves when nothing is being asked. */
  close(): Promise<void>;
}

/** Asks the store at short intervals. While it does not answer, all that was read before counts as out of date. */
export function watchExternalChanges(store: Pick<Store, "externalChangeToken">): ExternalChangeWatcher {
  const listeners: (() => void)[] = [];
  let known: number | undefined;
  let asking: Promise<void> | undefined;

  async function ask(): Promise<void> {
    const revision = await store.externalChangeToken().catch(() => undefined);
    if (revision === undefined || revision !== known) {
      known = revision;
      tell();
    }
  }
  function tell(): void {
    for (const listener of listeners) {
      listener();
    }
  }
  // One question at a time: a store that is slow to answer must not be asked twice.
  function askOnce(): void {
    if (asking !== undefined) {
      tell();
      return;
    }
    asking = ask().finally(() => {
      asking = undefined;
    });
  }

  askOnce();
  const timer = setInterval(askOnce, intervalMs);
  return {
    subscribe: (listener) => void listeners.push(listener),
    async close() {
      clearInterval(timer);
      await asking;
    },
  };
}
