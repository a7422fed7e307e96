import type { StockStore } from "../domain/store.ts";

/** How many changes of others are read one by one at most. After more of them, all of the stock counts as changed. */
const maxRead = 1_000;

/** Where in the history a server is: it knows of all changes up to a revision. */
export interface StockPosition {
  /** The lineage of the store: see `HistoryBounds`. */
  readonly lineage: string;
  readonly revision: bigint;
}

/** Hears of changes in the order of revisions, at once when they become known. */
export interface StockListener {
  /** A revision has changed an existing entry. */
  changed(petId: bigint, revision: bigint): void;
  /** Up to a revision, any entries may have changed, and new ones may have come. */
  allChanged(revision: bigint): void;
}

/**
 * Follows the revisions of the stock. It hears of this server's commits before their callers do, and of others' commits
 * soon after a call of `invalidate`.
 */
export class StockRevision {
  readonly #store: Pick<StockStore, "historyBounds" | "listChanges" | "onChanges">;
  readonly #listener: StockListener;
  /** Whether other servers may change the stock at any time. Then each call of `caughtUp` asks the store. */
  readonly #isShared: boolean;
  readonly #onAdvance: ((revision: bigint) => void)[] = [];
  #lineage: string | undefined;
  #revision = -1n;
  /** Counts how often others may have changed the stock; and the count up to which the store has been asked. */
  #invalidations = 1;
  #caughtUpWith = 0;
  #catchingUp: Promise<void> | undefined;

  constructor(
    store: Pick<StockStore, "historyBounds" | "listChanges" | "onChanges">,
    listener: StockListener,
    isShared = false,
  ) {
    this.#store = store;
    this.#listener = listener;
    this.#isShared = isShared;
    store.onChanges(({ revision, petIds }) => {
      if (isShared && revision - BigInt(petIds.length) > this.#revision) {
        // Other servers have changed the stock in between. Their changes are read first.
        this.invalidate();
      } else {
        this.#advance(revision, petIds);
      }
    });
  }

  /** Calls back with each revision that the server comes to, after the listener. */
  onAdvance(listener: (revision: bigint) => void): void {
    this.#onAdvance.push(listener);
  }

  /** Where the server is, by what it knows already. It asks the store only while it knows nothing. */
  async lastKnown(): Promise<StockPosition> {
    return this.#lineage === undefined ? await this.caughtUp() : this.#position(this.#lineage);
  }

  /** Where the server is, once it knows what others had changed before the call. Throws what the store throws. */
  async caughtUp(): Promise<StockPosition> {
    if (this.#isShared) {
      this.#invalidations += 1;
    }
    const invalidations = this.#invalidations;
    while (this.#lineage === undefined || this.#caughtUpWith < invalidations) {
      this.#catchingUp ??= this.#catchUp();
      await this.#catchingUp;
    }
    return this.#position(this.#lineage);
  }

  /** Notes that others may have changed the stock. */
  invalidate(): void {
    this.#invalidations += 1;
    // The next list tries again, and throws the failure.
    this.caughtUp().catch(() => {});
  }

  #position(lineage: string): StockPosition {
    return { lineage, revision: this.#revision };
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
    const { lineage, head } = await this.#store.historyBounds(0);
    const after = this.#revision;
    if (this.#lineage === undefined || head > after + BigInt(maxRead)) {
      this.#advance(head, []);
    } else if (head > after) {
      const query = { after, petIds: [], newestFirst: false, limit: maxRead };
      const { changes } = await this.#store.listChanges(query);
      const isKnownPet = changes.every(({ before }) => before !== undefined);
      this.#advance(changes.at(-1)?.revision ?? head, isKnownPet ? changes.map(({ petId }) => petId) : []);
    }
    this.#lineage = lineage;
  }

  /**
   * Goes on to a revision. `petIds` are the pets of the last revisions up to it. Where they do not reach back to the
   * known revision, everything counts as changed.
   */
  #advance(revision: bigint, petIds: readonly bigint[]): void {
    const known = this.#revision;
    if (revision <= known) {
      return;
    }
    this.#revision = revision;
    const before = revision - BigInt(petIds.length);
    if (before > known) {
      this.#listener.allChanged(revision);
    } else {
      for (let index = Number(known - before); index < petIds.length; index += 1) {
        this.#listener.changed(petIds[index] as bigint, before + BigInt(index + 1));
      }
    }
    for (const listener of this.#onAdvance) {
      listener(revision);
    }
  }
}
