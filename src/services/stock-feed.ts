import { setImmediate, setTimeout } from "node:timers/promises";
import type { WatchStockChangesResponse } from "../../gen/petstore/v1/inventory_service_pb.ts";
import { cursorExpired } from "../domain/errors.ts";
import type { StockChange } from "../domain/history.ts";
import type { HistoryFollowing } from "../domain/store.ts";
import { MessageGroup } from "../rpc/prepared-message.ts";
import { changeToWatchResponse } from "./messages.ts";
import type { StockRevision } from "./stock-revision.ts";

/** How many changes are read at once, and how many are kept for readers that are a little behind. */
const [maxBlock, maxKept] = [500, 4_000];

/** Distributions that take this long, in milliseconds, are followed by a pause. */
const longDistributionMs = 2;

/** Changes in a row, which all readers share. */
export interface ChangeBlock {
  /** The block has all changes after this revision, up to `upTo`. */
  readonly after: bigint;
  readonly upTo: bigint;
  readonly changes: readonly StockChange[];
  /** The messages of these changes. */
  readonly group: MessageGroup<WatchStockChangesResponse>;
}

/** Called when all readers have been handed a block. `madeAtMs` is when its oldest change was made. */
type FeedObserver = (madeAtMs: number) => void;

/** Called when there is a new block. */
type FeedListener = () => void;

/**
 * The newest changes of the stock, read from the store once for all readers. A reader that is further behind reads the
 * store itself. Without readers, nothing is read or kept.
 */
export class StockFeed {
  readonly #store: Pick<HistoryFollowing, "historyBounds" | "listChanges">;
  readonly #stock: StockRevision;
  readonly #observe: FeedObserver;
  readonly #listeners = new Set<FeedListener>();
  #blocks: ChangeBlock[] = [];
  /** The revision up to which the feed has read. */
  #upTo = 0n;
  #head = 0n;
  #isReading = false;
  /** The turn of the reader that was the last to ask for one. */
  #lastTurn = Promise.resolve();

  constructor(
    store: Pick<HistoryFollowing, "historyBounds" | "listChanges">,
    stock: StockRevision,
    observe: FeedObserver,
  ) {
    this.#store = store;
    this.#stock = stock;
    this.#observe = observe;
    stock.onAdvance(this.#follow);
    stock.onRestart(this.#startAnew);
  }

  /**
   * Begins to follow for a reader of the history with a lineage. `listener` is told of each block until `leave` is
   * called with it, and once more when `isFollowed` no longer holds. Throws `CURSOR_EXPIRED` for another history.
   */
  async join(listener: FeedListener, lineage: string): Promise<void> {
    if ((await this.#stock.lastKnown()).lineage !== lineage) {
      // The reader or the feed does not know yet that the store is another one now.
      this.#stock.invalidate();
      await this.#stock.caughtUp();
    }
    const { lineage: present, revision } = await this.#stock.lastKnown();
    if (present !== lineage) {
      throw cursorExpired();
    }
    if (this.#listeners.size === 0) {
      this.#blocks = [];
      this.#upTo = revision;
    }
    this.#listeners.add(listener);
    this.#follow(revision);
  }

  leave(listener: FeedListener): void {
    this.#listeners.delete(listener);
    if (this.#listeners.size === 0) {
      this.#blocks = [];
    }
  }

  /** Whether a reader that has joined is told of changes. If not, its history is no longer that of the store. */
  isFollowed(listener: FeedListener): boolean {
    return this.#listeners.has(listener);
  }

  /** Whether a reader at this revision has all changes that the feed has read. */
  hasReached(revision: bigint): boolean {
    return revision >= this.#upTo;
  }

  /**
   * The block with the change that follows a revision; undefined where the feed does not have this change, or has
   * dropped it.
   */
  blockAfter(revision: bigint): ChangeBlock | undefined {
    return this.#blocks.findLast(({ after, upTo }) => after <= revision && revision < upTo);
  }

  /**
   * Resolves when a reader that is behind may read the store: one reader in each turn of the event loop. It takes about a
   * millisecond to read a batch and to send it. Between the turns other calls go on.
   */
  nextTurn(): Promise<void> {
    this.#lastTurn = this.#lastTurn.then(() => setImmediate());
    return this.#lastTurn;
  }

  /** Reads on where there are readers, up to a revision that is known. */
  readonly #follow = (revision: bigint): void => {
    if (revision > this.#head) {
      this.#head = revision;
    }
    if (!this.#isReading && this.#listeners.size > 0 && this.#upTo < this.#head) {
      this.#isReading = true;
      void this.#readOn();
    }
  };

  /** Lets all readers end: another or an older history begins here. */
  readonly #startAnew = (revision: bigint): void => {
    this.#head = revision;
    this.#upTo = revision;
    this.#blocks = [];
    const listeners = [...this.#listeners];
    this.#listeners.clear();
    for (const listener of listeners) {
      listener();
    }
  };

  async #readOn(): Promise<void> {
    while (this.#listeners.size > 0 && this.#upTo < this.#head) {
      const blocks = this.#blocks;
      try {
        const block = await this.#read();
        // Other blocks mean that the feed has begun anew meanwhile, at another revision.
        if (blocks === this.#blocks) {
          this.#add(block);
        }
      } catch {
        // Each reader is then behind the feed. It reads the store itself, and gets the error there.
        this.#blocks = [];
        this.#upTo = this.#head;
      }
      await this.#distribute();
    }
    this.#isReading = false;
  }

  /** Throws if the next changes are deleted already, or are those of another history. */
  async #read(): Promise<ChangeBlock> {
    const after = this.#upTo;
    const { lineage } = await this.#stock.lastKnown();
    const { changes } = await this.#store.listChanges({ after, petIds: [], newestFirst: false, limit: maxBlock });
    const [first] = changes;
    if (first?.revision !== after + 1n) {
      throw new Error(`change ${after + 1n} is no longer kept`);
    }
    // Only bounds that are read after the changes tell whose history these are of.
    if ((await this.#store.historyBounds(0)).lineage !== lineage) {
      throw new Error("another store has come into place");
    }
    const upTo = changes.at(-1)?.revision ?? after;
    return {
      after,
      upTo,
      changes,
      group: new MessageGroup(changes.map((change) => changeToWatchResponse(change, lineage))),
    };
  }

  #add(block: ChangeBlock): void {
    this.#blocks.push(block);
    this.#upTo = block.upTo;
    let kept = this.#blocks.reduce((sum, { changes }) => sum + changes.length, 0);
    while (kept > maxKept) {
      kept -= this.#blocks.shift()?.changes.length ?? kept;
    }
  }

  /** Wakes all readers. If their work takes long, the feed pauses for the same time, so that other work goes on. */
  async #distribute(): Promise<void> {
    const startedAtMs = performance.now();
    for (const listener of this.#listeners) {
      listener();
    }
    await setImmediate();
    const oldest = this.#blocks.at(-1)?.changes[0];
    if (oldest !== undefined) {
      this.#observe(oldest.occurredAtMs);
    }
    const tookMs = performance.now() - startedAtMs;
    if (tookMs >= longDistributionMs) {
      await setTimeout(tookMs);
    }
  }
}
