import type {
  InventoryService,
  WatchStockChangesRequest,
  WatchStockChangesResponse,
} from "../../gen/petstore/v1/inventory_service_pb.ts";
import { cursorExpired } from "../domain/errors.ts";
import {
  type ChangeQuery,
  type HistoryBounds,
  heartbeatMs,
  isNextKept,
  issueCursor,
  parseCursor,
  type StockChange,
  selects,
} from "../domain/history.ts";
import type { StockStore } from "../domain/store.ts";
import type { ServiceMethods } from "../rpc/endpoint.ts";
import { MessageGroup } from "../rpc/prepared-message.ts";
import { changeToWatchResponse } from "./messages.ts";
import type { ChangeBlock, StockFeed } from "./stock-feed.ts";

/** How many changes a reader that is behind reads at once. */
const batchSize = 100;

/** What the watching of changes needs. */
export interface WatchOptions {
  readonly store: Pick<StockStore, "historyBounds" | "listChanges" | "getEntry">;
  /** Changes before this time are no longer part of the history, in milliseconds since the Unix epoch. */
  readonly keptSinceMs: () => number;
  readonly feed: StockFeed;
}

type WatchStockChanges = ServiceMethods<typeof InventoryService>["watchStockChanges"];

/** The RPC that streams the history: first the changes that were made, then each new one. */
export function watchStockChanges(options: WatchOptions): WatchStockChanges {
  return async (request, { signal }) => follow(await openReader(request, options), options.feed, signal);
}

/**
 * Yields what the reader reads. Waits for the feed where there is nothing to read. Throws the signal's reason, and
 * `CURSOR_EXPIRED` once another or an older store is in the place of the reader's.
 */
async function* follow(reader: ChangeReader, feed: StockFeed, signal: AbortSignal) {
  let isHeartbeatDue = false;
  const bell = new Bell();
  const heartbeat = setInterval(() => {
    isHeartbeatDue = true;
    bell.ring();
  }, heartbeatMs);
  signal.addEventListener("abort", bell.ring);
  try {
    await feed.join(bell.ring, reader.lineage);
    while (true) {
      signal.throwIfAborted();
      if (!feed.isFollowed(bell.ring)) {
        throw cursorExpired();
      }
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

/**
 * The position is judged here by the history's retention, and never again: what was part of the history when the stream
 * began is sent as long as the store has it. Throws `INVALID_REQUEST`, `CURSOR_EXPIRED` and `PET_NOT_FOUND`.
 */
async function openReader(request: WatchStockChangesRequest, { store, keptSinceMs }: WatchOptions) {
  const { after, petId: petIds, crossing } = request;
  const bounds = await store.historyBounds(keptSinceMs());
  const position = after === undefined ? bounds.oldest - 1n : parseCursor(after, bounds);
  await Promise.all(petIds.map((id) => store.getEntry(id)));
  return new ChangeReader({ store, filter: { petIds, crossing }, bounds }, position);
}

interface ReaderOptions extends Pick<WatchOptions, "store"> {
  readonly filter: Pick<ChangeQuery, "petIds" | "crossing">;
  /** How far the history went when the stream began. */
  readonly bounds: Pick<HistoryBounds, "lineage" | "head">;
}

/** Reads the changes that one stream sends. It keeps none of them. */
class ChangeReader {
  readonly #options: ReaderOptions;
  /** How far the history goes, as last read from the store. */
  #head: bigint;
  #position: bigint;

  constructor(options: ReaderOptions, position: bigint) {
    this.#options = options;
    this.#head = options.bounds.head;
    this.#position = position;
  }

  /** The lineage of the history, which cursors contain. */
  get lineage(): string {
    return this.#options.bounds.lineage;
  }

  /** All selected changes up to this revision have been read. */
  get position(): bigint {
    return this.#position;
  }

  heartbeat() {
    return { cursor: issueCursor(this.lineage, this.#position) };
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

  /** Throws `CURSOR_EXPIRED` where the next changes are deleted. */
  async #readStore(): Promise<MessageGroup<WatchStockChangesResponse>> {
    const { store, filter } = this.#options;
    const query = { ...filter, after: this.#position, newestFirst: false, limit: batchSize };
    const { changes, searchedTo } = await store.listChanges(query);
    // Only bounds that are read after the changes tell whether some of these were deleted by then.
    const { lineage, head, ...bounds } = await store.historyBounds(0);
    if (lineage !== this.lineage || !isNextKept(this.#position, bounds)) {
      throw cursorExpired();
    }
    const isEnd = searchedTo === undefined && changes.length < batchSize;
    const last = changes.at(-1)?.revision ?? this.#position;
    // A head that is read after the changes may count some that are not among them.
    this.#position = searchedTo ?? (isEnd && this.#head > last ? this.#head : last);
    this.#head = head;
    return new MessageGroup(changes.map((change) => changeToWatchResponse(change, lineage)));
  }
}
