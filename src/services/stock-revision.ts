import type { StockStore } from "../domain/stock-store.ts";

/** The most changes of others that are read one by one. Past it, all of the stock counts as changed. */
const maxRead = 1_000;

/** Where in the history a server is: it knows of all changes up to a revision. */
export interface StockPosition {
  /** The store's, as `HistoryBounds` has it. */
  readonly lineage: string;
  readonly revision: bigint;
}

/** Hears of changes in the order of revisions, at once when they become known. */
export interface StockListener {
  /** A revision has changed an entry, which was there before. */
  changed(petId: bigint, revision: bigint): void;
  /** Up to a revision, any entries may have changed, and new ones may have come. */
  allChanged(revision: bigint): void;
}

/**
 * Follows the revisions of the stock: what this server commits, before any caller hears of it; and what others commit,
 * soon after `doubt` is called.
 */
export class StockRevision {
  readonly #store: Pick<StockStore, "historyBounds" | "listChanges" | "onChanges">;
  readonly #listener: StockListener;
  #lineage: string | undefined;
  #revision = -1n;
  /** How often others may have changed the stock; and how many of these times were looked into. */
  #doubts = 1;
  #settledDoubts = 0;
  #settling: Promise<void> | undefined;

  constructor(store: Pick<StockStore, "historyBounds" | "listChanges" | "onChanges">, listener: StockListener) {
    this.#store = store;
    this.#listener = listener;
    store.onChanges(({ revision, petIds }) => this.#advance(revision, petIds));
  }

  /** Where the server is, with what it knows already. It asks the store only when it knows nothing. */
  async known(): Promise<StockPosition> {
    return this.#lineage === undefined ? await this.settled() : this.#position(this.#lineage);
  }

  /** Where the server is, when all has been looked into that others may have done. Throws what the store throws. */
  async settled(): Promise<StockPosition> {
    const doubts = this.#doubts;
    while (this.#lineage === undefined || this.#settledDoubts < doubts) {
      this.#settling ??= this.#settle();
      await this.#settling;
    }
    return this.#position(this.#lineage);
  }

  /** Notes that others may have changed the stock. */
  doubt(): void {
    this.#doubts += 1;
    // Whoever needs to know tries again, and sees the failure.
    this.settled().catch(() => {});
  }

  #position(lineage: string): StockPosition {
    return { lineage, revision: this.#revision };
  }

  async #settle(): Promise<void> {
    const doubts = this.#doubts;
    try {
      await this.#catchUp();
      this.#settledDoubts = doubts;
    } finally {
      this.#settling = undefined;
    }
  }

  async #catchUp(): Promise<void> {
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

  /** Goes on to a revision. `petIds` are those of the revisions up to it; where some are missing, all has changed. */
  #advance(revision: bigint, petIds: readonly bigint[]): void {
    const before = revision - BigInt(petIds.length);
    if (revision <= this.#revision) {
      return;
    }
    const known = this.#revision;
    this.#revision = revision;
    if (before > known) {
      this.#listener.allChanged(revision);
      return;
    }
    for (let index = Number(known - before); index < petIds.length; index += 1) {
      this.#listener.changed(petIds[index] as bigint, before + BigInt(index + 1));
    }
  }
}
