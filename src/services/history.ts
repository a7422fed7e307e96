import { setImmediate, setTimeout } from "node:timers/promises";
import { create } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import {
  type InventoryService,
  type ListStockChangesRequest,
  type WatchStockChangesRequest,
  type WatchStockChangesResponse,
  WatchStockChangesResponseSchema,
} from "../../gen/petstore/v1/inventory_service_pb.ts";
import { cursorExpired } from "../domain/errors.ts";
import {
  type ChangeQuery,
  heartbeatMs,
  issueCursor,
  parseCursor,
  type StockChange,
  selects,
} from "../domain/history.ts";
import { type AnsweredChanges, readChangePage } from "../domain/page.ts";
import type { StockStore } from "../domain/store.ts";
import type { ServiceMethods } from "../rpc/endpoint.ts";
import { MessageGroup } from "../rpc/prepared-message.ts";
import { changeKindMessages } from "./messages.ts";
import type { StockRevision } from "./stock-revision.ts";

/** What the history needs. */
export interface HistoryServiceOptions {
  readonly store: Pick<StockStore, "historyBounds" | "listChanges" | "getEntry">;
  /** Changes before this time are no longer part of the history, in milliseconds since the Unix epoch. */
  readonly keptSinceMs: () => number;
}

/** The RPC that lists the history. */
export function listStockChanges({
  store,
  keptSinceMs,
}: HistoryServiceOptions): ServiceMethods<typeof InventoryService>["listStockChanges"] {
  return async (request) => {
    const { crossing, newestFirst, after, pageSize, pageToken } = request;
    const petIds = await petsOf(store, request);
    if (petIds === undefined) {
      return { changes: [], nextPageToken: "" };
    }
    const asked = { petIds, crossing, newestFirst, after, pageSize, pageToken: pageToken || undefined };
    const { changes, lineage, nextPageToken = "" } = await readChangePage(store, asked, keptSinceMs());
    return { changes: changes.map((change) => changeToMessage(change, lineage)), nextPageToken };
  };
}

/**
 * The pets that both filters let through: empty for all pets, undefined for none. Throws `PET_NOT_FOUND` where both are
 * given. Where one is given, the read of the changes throws it.
 */
async function petsOf(
  store: Pick<StockStore, "getEntry">,
  { pet, petId }: ListStockChangesRequest,
): Promise<readonly bigint[] | undefined> {
  if (pet === undefined || petId.length === 0) {
    return pet === undefined ? petId : [pet];
  }
  await Promise.all([pet, ...petId].map((id) => store.getEntry(id)));
  return petId.includes(pet) ? [pet] : undefined;
}

/** A change as clients see it. Its cursor has the lineage of the history. */
export function changeToMessage(change: StockChange, lineage: AnsweredChanges["lineage"]) {
  const { kind, occurredAtMs, ...same } = change;
  return {
    ...same,
    cursor: issueCursor(lineage, change.revision),
    kind: changeKindMessages[kind],
    occurredAt: timestampFromMs(occurredAtMs),
  };
}

/** How many changes a reader that is behind reads at once. */
const batchSize = 100;

/** What the watching of changes needs. */
export interface WatchOptions extends HistoryServiceOptions {
  readonly feed: StockFeed;
}

type WatchStockChanges = ServiceMethods<typeof InventoryService>["watchStockChanges"];

/** The RPC that streams the history: first the changes that were made, then each new one. */
export function watchStockChanges(options: WatchOptions): WatchStockChanges {
  return async (request, { signal }) => follow(await openReader(request, options), options.feed, signal);
}

/** Yields what the reader reads. Waits for the feed where there is nothing to read. Throws the signal's reason. */
async function* follow(reader: ChangeReader, feed: StockFeed, signal: AbortSignal) {
  let isHeartbeatDue = false;
  const bell = new Bell();
  const heartbeat = setInterval(() => {
    isHeartbeatDue = true;
    bell.ring();
  }, heartbeatMs);
  signal.addEventListener("abort", bell.ring);
  try {
    await feed.join(bell.ring);
    while (true) {
      signal.throwIfAborted();
      if (isHeartbeatDue) {
        isHeartbeatDue = false;
        yield reader.heartbeat();
      } else if (feed.hasReached(reader.position)) {
        await bell.rung();
      } else {
        const block = feed.blockAfter(reader.position);
        if (block === undefined) {
          await feed.nextTurn();
        }
        const group = await reader.read(block);
        if (group.messages.length > 0) {
          yield group;
        }
      }
    }
  } finally {
    clearInterval(heartbeat);
    signal.removeEventListener("abort", bell.ring);
    feed.leave(bell.ring);
  }
}

/** Wakes a stream that waits. */
class Bell {
  #isRung = false;
  #wake: (() => void) | undefined;

  readonly ring = (): void => {
    this.#isRung = true;
    this.#wake?.();
  };

  /** Resolves once the bell has been rung since the last call. */
  async rung(): Promise<void> {
    if (!this.#isRung) {
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
    this.#wake = undefined;
    this.#isRung = false;
  }
}

/** Throws `INVALID_REQUEST`, `CURSOR_EXPIRED` and `PET_NOT_FOUND`. */
async function openReader(request: WatchStockChangesRequest, { store, keptSinceMs }: WatchOptions) {
  const { after, petId: petIds, crossing } = request;
  const bounds = await store.historyBounds(keptSinceMs());
  const position = after === undefined ? bounds.oldest - 1n : parseCursor(after, bounds);
  await Promise.all(petIds.map((id) => store.getEntry(id)));
  return new ChangeReader({ store, keptSinceMs, filter: { petIds, crossing }, lineage: bounds.lineage }, position);
}

interface ReaderOptions extends Omit<WatchOptions, "feed"> {
  readonly filter: Pick<ChangeQuery, "petIds" | "crossing">;
  /** The lineage of the history, which cursors contain. */
  readonly lineage: string;
}

/** Reads the changes that one stream sends. It keeps none of them. */
class ChangeReader {
  readonly #options: ReaderOptions;
  #position: bigint;

  constructor(options: ReaderOptions, position: bigint) {
    this.#options = options;
    this.#position = position;
  }

  /** All selected changes up to this revision have been read. */
  get position(): bigint {
    return this.#position;
  }

  heartbeat() {
    return { cursor: issueCursor(this.#options.lineage, this.#position) };
  }

  /**
   * Reads the next changes: from a block of the feed, or from the store where the feed does not have them. The filter
   * of this stream may select none of them.
   */
  async read(block: ChangeBlock | undefined): Promise<MessageGroup<WatchStockChangesResponse>> {
    return block === undefined ? await this.#readStore() : this.#readBlock(block);
  }

  #readBlock({ after, upTo, changes, group }: ChangeBlock): MessageGroup<WatchStockChangesResponse> {
    const { filter } = this.#options;
    const former = this.#position;
    this.#position = upTo;
    if (former === after && filter.petIds.length === 0 && filter.crossing === undefined) {
      return group;
    }
    const isFor = (change: StockChange) => change.revision > former && selects(filter, change);
    return new MessageGroup(group.messages.filter((_, index) => isFor(changes[index] as StockChange)));
  }

  /** Throws `CURSOR_EXPIRED` where the next changes are no longer kept. */
  async #readStore(): Promise<MessageGroup<WatchStockChangesResponse>> {
    const { store, keptSinceMs, filter, lineage } = this.#options;
    const { head, oldest } = await store.historyBounds(keptSinceMs());
    if (this.#position + 1n < oldest) {
      throw cursorExpired();
    }
    const query = { ...filter, after: this.#position, newestFirst: false, limit: batchSize };
    const { changes, searchedTo } = await store.listChanges(query);
    const isEnd = searchedTo === undefined && changes.length < batchSize;
    const last = changes.at(-1)?.revision ?? this.#position;
    this.#position = searchedTo ?? (isEnd && head > last ? head : last);
    return new MessageGroup(changes.map((change) => toResponse(change, lineage)));
  }
}

/** How many changes are read at once, and how many are kept for readers that are a little behind. */
const [maxBlock, maxKept] = [500, 4_000];

/** Distributions that take this long, in milliseconds, are followed by a pause. */
const longDistributionMs = 2;

/** Changes in a row, which all readers share. */
interface ChangeBlock {
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
  readonly #store: Pick<StockStore, "listChanges">;
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

  constructor(store: Pick<StockStore, "listChanges">, stock: StockRevision, observe: FeedObserver) {
    this.#store = store;
    this.#stock = stock;
    this.#observe = observe;
    stock.onAdvance((revision) => {
      this.#head = revision;
      this.#follow();
    });
  }

  /** Begins to follow for a reader. `listener` is told of each block until `leave` is called with it. */
  async join(listener: FeedListener): Promise<void> {
    const { revision } = await this.#stock.lastKnown();
    if (this.#listeners.size === 0) {
      this.#blocks = [];
      this.#upTo = revision;
    }
    if (revision > this.#head) {
      this.#head = revision;
    }
    this.#listeners.add(listener);
    this.#follow();
  }

  leave(listener: FeedListener): void {
    this.#listeners.delete(listener);
    if (this.#listeners.size === 0) {
      this.#blocks = [];
    }
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

  #follow(): void {
    if (!this.#isReading && this.#listeners.size > 0 && this.#upTo < this.#head) {
      this.#isReading = true;
      void this.#readOn();
    }
  }

  async #readOn(): Promise<void> {
    while (this.#listeners.size > 0 && this.#upTo < this.#head) {
      try {
        this.#add(await this.#read());
      } catch {
        // Each reader is then behind the feed. It reads the store itself, and gets the error there.
        this.#blocks = [];
        this.#upTo = this.#head;
      }
      await this.#distribute();
    }
    this.#isReading = false;
  }

  async #read(): Promise<ChangeBlock> {
    const after = this.#upTo;
    const { lineage } = await this.#stock.lastKnown();
    const { changes } = await this.#store.listChanges({ after, petIds: [], newestFirst: false, limit: maxBlock });
    const upTo = changes.at(-1)?.revision ?? this.#head;
    return { after, upTo, changes, group: new MessageGroup(changes.map((change) => toResponse(change, lineage))) };
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

/** A change as a stream carries it. */
function toResponse(change: StockChange, lineage: string): WatchStockChangesResponse {
  const cursor = issueCursor(lineage, change.revision);
  return create(WatchStockChangesResponseSchema, { change: changeToMessage(change, lineage), cursor });
}
