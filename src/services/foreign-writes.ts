import type { Store } from "../domain/store.ts";

/** How often the store is asked: what others have written is to be seen within a second. */
const intervalMs = 250;

/** A watch over a store. */
export interface ForeignWrites {
  /** Asks no more, and resolves when nothing is being asked. */
  close(): Promise<void>;
}

/**
 * Calls back whenever others may have written to the store, within a second; and once at the beginning, since what was
 * read before the first answer may be out of date.
 */
export function watchForeignWrites(store: Pick<Store, "foreignRevision">, onWrite: () => void): ForeignWrites {
  let known: number | undefined;
  let asking: Promise<void> | undefined;

  async function ask(): Promise<void> {
    try {
      const revision = await store.foreignRevision();
      if (revision !== known) {
        known = revision;
        onWrite();
      }
    } catch {
      // The store is busy or failing: whatever it says next is news.
      known = undefined;
    }
  }
  function askOnce(): void {
    asking ??= ask().finally(() => {
      asking = undefined;
    });
  }

  askOnce();
  const timer = setInterval(askOnce, intervalMs);
  return {
    async close() {
      clearInterval(timer);
      await asking;
    },
  };
}
