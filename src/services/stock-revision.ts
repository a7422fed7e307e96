import type { HistoryFollowing } from "../domain/store.ts";

/** How many changes of others are read one by one at most. After more of them, all of the stock counts as changed. */
const maxRead = 1_000;

/** The wait after the store has failed, in milliseconds. Changes by others must be seen within a second. */
const storeRetryMs = 250;

/** Where in the history a server is: it knows of all changes up to a revision. */
export interface StockPosition {
  /** The lineage of the store: see `HistoryBounds`. */
  readonly lineage: string;
  readonly revision: bigint;
}

/**
 * Hears of changes at once when they become known. They come in the order of revisions, which begins anew when another
 * or an older store is in the place of the one that was known.
 */
export interface StockListener {
  /** A revision has changed an existing entry. */
  changed(petId: bigint, revision: bigint): void;
  /** Up to a revision, any entries may have changed, and new ones may have come. */
  allChanged(revision: bigint): void;
}

/** How the history is followed. */
interface RevisionOptions {
  /** Whether other servers may change the stock at any time. Then each call of `caughtUp` asks the store. */
  readonly isShared: boolean;
  /** Aborts when the server stops serving. From then on, only calls of `caughtUp` ask the store again. */
  readonly stopping: AbortSignal;
}

/**
 * Follows the revisions of the stock. It hears of this server's commits before their callers do, and of others' commits
 * soon after a call of `invalidate`.
 */
export class StockRevision {
  readonly #store: HistoryFollowing;
  readonly #listener: StockListener;
  readonly #options: RevisionOptions;
  readonly #onAdvance: ((revision: bigint) => void)[] = [];
  readonly #onRestart: ((revision: bigint) => void)[] = [];
  /** Another object once anything may have changed. */
  #known: StockPosition | undefined;
  /** Counts how often others may have changed the stock; and the count up to which the store has been asked. */
  #invalidations = 1;
  #caughtUpWith = 0;
  #catchingUp: Promise<void> | undefined;
  /** Whether others may have changed the stock in a way that the history does not tell of. */
  #isUncounted = false;
  /** Asks the store again when it has failed. */
  #retry: NodeJS.Timeout | undefined;

  constructor(store: HistoryFollowing, listener: StockListener, options: RevisionOptions) {
    this.#store = store;
    this.#listener = listener;
    this.#options = options;
    store.onChanges(({ lineage, revision, petIds }) => {
      const known = this.#known;
      const isOther = known !== undefined && lineage !== known.lineage;
      if (isOther || (options.isShared && revision - BigInt(petIds.length) > (known?.revision ?? -1n))) {
        // The store is another one now, or other servers have changed the stock in between. That is read first.
        this.invalidate();
      } else {
        this.#advance({ lineage, revision }, petIds);
      }
    });
  }

  /** Calls back with each revision that the server comes to, after the listener. */
  onAdvance(listener: (revision: bigint) => void): void {
    this.#onAdvance.push(listener);
  }

  /**
   * Calls back after the listener when another or an older store is in the place of the one that was known: the history
   * begins anew at a revision, and former positions have no meaning.
   */
  onRestart(listener: (revision: bigint) => void): void {
    this.#onRestart.push(listener);
  }

  /** Where the server is, by what it knows already. It asks the store only while it knows nothing. */
  async lastKnown(): Promise<StockPosition> {
    return this.#known ?? (await this.caughtUp());
  }

  /**
   * Where the server is, once it knows what others had changed before the call. As long as nothing may have changed, it
   * is the same object. Throws what the store throws.
   */
  async caughtUp(): Promise<StockPosition> {
    if (this.#options.isShared) {
      this.#invalidations += 1;
    }
    const invalidations = this.#invalidations;
    while (this.#known === undefined || this.#caughtUpWith < invalidations) {
      this.#catchingUp ??= this.#catchUp();
      await this.#catchingUp;
    }
    return this.#known;
  }

  /** Notes that others may have changed the stock. */
  invalidate(): void {
    this.#invalidations += 1;
    // A list that comes first tries again, too, and throws the failure.
    this.caughtUp().catch(() => this.#retryLater());
  }

  #retryLater(): void {
    clearTimeout(this.#retry);
    this.#retry = setTimeout(() => {
      if (this.#caughtUpWith < this.#invalidations && !this.#options.stopping.aborted) {
        this.invalidate();
      }
    }, storeRetryMs).unref();
  }

  /** Notes that others have changed data in a way that the history does not tell of. */
  invalidateAll(): void {
    this.#isUncounted = true;
    this.invalidate();
  }

  async #catchUp(): Promise<void> {
    const invalidations = this.#invalidations;
    try {
      await this.#readOn();
      this.#caughtUpWith = invalidations;
    } finally {
      this.#catchingUp = undefined;
    }
  }

  async #readOn(): Promise<void> {
    const known = this.#known;
    const { lineage, head } = await this.#store.historyBounds(0);
    const position = { lineage, revision: head };
    if (known !== undefined && (lineage !== known.lineage || head < known.revision)) {
      this.#restart(position);
    } else if (known === undefined || head > known.revision + BigInt(maxRead)) {
      this.#advance(position, []);
    } else if (head > known.revision) {
      const query = { after: known.revision, petIds: [], newestFirst: false, limit: maxRead };
      const { changes } = await this.#store.listChanges(query);
      // Only bounds that are read after the changes tell whose history these are of.
      if ((await this.#store.historyBounds(0)).lineage !== lineage) {
        return await this.#readOn();
      }
      const isKnownPet = changes.every(({ before }) => before !== undefined);
      const revision = changes.at(-1)?.revision ?? head;
      this.#advance({ lineage, revision }, isKnownPet ? changes.map(({ petId }) => petId) : []);
    }
    if (this.#isUncounted) {
      this.#isUncounted = false;
      this.#allChanged({ ...(this.#known ?? position) });
    }
  }

  #restart(position: StockPosition): void {
    this.#allChanged(position);
    for (const listener of this.#onRestart) {
      listener(position.revision);
    }
  }

  #allChanged(position: StockPosition): void {
    this.#known = position;
    this.#listener.allChanged(position.revision);
  }

  /**
   * Goes on to a revision. `petIds` are the pets of the last revisions up to it. Where they do not reach back to the
   * known revision, everything counts as changed.
   */
  #advance(position: StockPosition, petIds: readonly bigint[]): void {
    const known = this.#known?.revision ?? -1n;
    const { revision } = position;
    if (revision <= known) {
      return;
    }
    const before = revision - BigInt(petIds.length);
    if (before > known) {
      this.#allChanged(position);
    } else {
      this.#known = position;
      for (let index = Number(known - before); index < petIds.length; index += 1) {
        this.#listener.changed(petIds[index] as bigint, before + BigInt(index + 1));
      }
    }
    for (const listener of this.#onAdvance) {
      listener(revision);
    }
  }
}
