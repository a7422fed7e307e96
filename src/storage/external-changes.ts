import type { ChangeTokens, ChangeTopic, Store } from "../domain/store.ts";

/**
 * How often the store is asked, in milliseconds. Changes by others must be seen within a second. Source:
 * docs/contract.md#keys
 */
const intervalMs = 250;

/** How long to wait after a notification of the store, in milliseconds. More notifications may follow at once. */
const soonMs = 5;

/** How many intervals a question may stay open before all topics count as changed. */
const maxOpenIntervals = 3;

const topics: readonly ChangeTopic[] = ["keys", "stock", "usage", "webhooks"];

/** Tells when others may have changed data of the store. Caches of this data are then out of date. */
export interface ExternalChangeWatcher {
  /** Calls back within a second of a change; and once at the beginning, because earlier changes are not known. */
  subscribe(topic: ChangeTopic, listener: () => void): void;
  /** Calls back within a second of a change that no counter tells of: see `ChangeTokens`. */
  onUncounted(listener: () => void): void;
  /** How long ago the store has last answered, in milliseconds. */
  silenceMs(): number;
  /** Stops asking, and resolves when no question is open. */
  close(): Promise<void>;
}

/** The part of a store that tells of changes by others. */
type WatchedStore = Pick<Store, "changeTokens" | "onOthersChange">;

/**
 * Asks the store for its tokens at short intervals. When it fails, or is too late for a change to be seen within a
 * second, all topics count as changed.
 */
export class TokenWatcher implements ExternalChangeWatcher {
  readonly #store: WatchedStore;
  readonly #listeners: Record<ChangeTopic, (() => void)[]> = { keys: [], stock: [], usage: [], webhooks: [] };
  readonly #uncountedListeners: (() => void)[] = [];
  readonly #interval: NodeJS.Timeout;
  #known: ChangeTokens | undefined;
  /** The token for what is not counted, as it was last known: while the store fails, nothing is known to be uncounted. */
  #uncounted: number | undefined;
  #asking: Promise<void> | undefined;
  #soon: NodeJS.Timeout | undefined;
  #isClosed = false;
  #openIntervals = 0;
  #heardAtMs = performance.now();

  constructor(store: WatchedStore) {
    this.#store = store;
    this.#askOnce();
    store.onOthersChange?.(() => this.#askSoon());
    this.#interval = setInterval(() => this.#askOnce(), intervalMs);
  }

  subscribe(topic: ChangeTopic, listener: () => void): void {
    this.#listeners[topic].push(listener);
  }

  onUncounted(listener: () => void): void {
    this.#uncountedListeners.push(listener);
  }

  silenceMs(): number {
    return performance.now() - this.#heardAtMs;
  }

  async close(): Promise<void> {
    clearInterval(this.#interval);
    clearTimeout(this.#soon);
    this.#isClosed = true;
    await this.#asking;
  }

  /** One question at a time: a slow store is not asked twice. */
  #askOnce(): void {
    if (this.#asking !== undefined) {
      this.#openIntervals += 1;
      if (this.#openIntervals >= maxOpenIntervals) {
        this.#tell(topics);
      }
      return;
    }
    this.#openIntervals = 0;
    this.#asking = this.#ask().finally(() => {
      this.#asking = undefined;
    });
  }

  /** Many changes that come together are asked about once. */
  #askSoon(): void {
    if (this.#isClosed) {
      return;
    }
    this.#soon ??= setTimeout(() => {
      this.#soon = undefined;
      if (this.#asking === undefined) {
        this.#askOnce();
      } else {
        void this.#asking.then(() => this.#askSoon());
      }
    }, soonMs);
  }

  async #ask(): Promise<void> {
    const tokens = await this.#store.changeTokens().catch(() => undefined);
    if (tokens !== undefined) {
      this.#heardAtMs = performance.now();
    }
    const former = this.#known;
    this.#known = tokens;
    this.#tell(topics.filter((topic) => tokens === undefined || tokens[topic] !== former?.[topic]));
    if (tokens !== undefined && tokens.uncounted !== this.#uncounted) {
      this.#uncounted = tokens.uncounted;
      callAll(this.#uncountedListeners);
    }
  }

  #tell(changed: readonly ChangeTopic[]): void {
    callAll(changed.flatMap((topic) => this.#listeners[topic]));
  }
}

function callAll(listeners: readonly (() => void)[]): void {
  for (const listener of listeners) {
    listener();
  }
}
