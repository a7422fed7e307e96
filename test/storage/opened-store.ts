import type { Store } from "../../src/domain/store.ts";

/** A store to be tested. What it holds goes away with `close`. */
export interface OpenedStore {
  readonly store: Store;
  /** Another handle on the same data, as another process has one. */
  readonly openAnother: () => Promise<Store>;
  /** Closes the store and its other handles, and opens it again, as a restart does. */
  readonly reopen: () => Promise<Store>;
  readonly close: () => Promise<void>;
}

export type OpenStore = () => Promise<OpenedStore>;

/** Runs a test on an empty store, and closes it whatever comes. */
export function withStore(open: OpenStore, test: (opened: OpenedStore) => Promise<void>): () => Promise<void> {
  return async () => {
    const opened = await open();
    try {
      await test(opened);
    } finally {
      await opened.close();
    }
  };
}
