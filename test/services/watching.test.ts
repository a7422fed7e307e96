import { create } from "@bufbuild/protobuf";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { WatchStockChangesRequestSchema } from "../../gen/petstore/v1/inventory_service_pb.ts";
import type { StockedPet } from "../../src/domain/catalog.ts";
import { issueCursor } from "../../src/domain/history.ts";
import type { HistoryFollowing } from "../../src/domain/store.ts";
import type { Call } from "../../src/rpc/call.ts";
import { MessageGroup } from "../../src/rpc/prepared-message.ts";
import { StockFeed } from "../../src/services/stock-feed.ts";
import { StockRevision } from "../../src/services/stock-revision.ts";
import { type WatchOptions, watchStockChanges } from "../../src/services/watching.ts";
import type { OpenedStore } from "../storage/opened-store.ts";
import { createPet } from "../storage/samples.ts";
import { openNewSqlite } from "../storage/sqlite-store.ts";

const changeCount = 2_000;
/** How many changes a stream that is behind reads at once. */
const batchSize = 100;
const stopping = new AbortController().signal;

let opened: OpenedStore;
/** Counts the turns of the event loop. */
let turns: number;
let counting: NodeJS.Immediate;

beforeEach(async () => {
  opened = await openNewSqlite({});
  await opened.store.importAll({ pets: createPets(changeCount) }, 0);
  turns = 0;
  count();
});

afterEach(async () => {
  clearImmediate(counting);
  await opened.close();
});

function count(): void {
  turns += 1;
  counting = setImmediate(count);
}

function createPets(count: number, pet: Partial<StockedPet> = {}): StockedPet[] {
  return Array.from({ length: count }, (_, index) => createPet({ ...pet, id: BigInt(index + 1) }));
}

function createStock(store: HistoryFollowing = opened.store): StockRevision {
  return new StockRevision(store, { changed: () => {}, allChanged: () => {} }, { isShared: false, stopping });
}

/** A history whose bounds are what the test sets them to: at first those of 2,000 changes. */
async function followByHand() {
  const bounds = { ...(await opened.store.historyBounds(0)), head: 2_000n };
  const store: HistoryFollowing = {
    onChanges() {},
    historyBounds: async () => ({ ...bounds }),
    listChanges: (query) => opened.store.listChanges(query),
  };
  return { bounds, store };
}

function createFeed(stock = createStock()): StockFeed {
  return new StockFeed(opened.store, stock, () => {});
}

/** Reads changes as fast as they come, until there have been so many. */
async function read(
  feed: StockFeed,
  count = changeCount,
  keptSinceMs = () => 0,
  store: WatchOptions["store"] = opened.store,
): Promise<void> {
  const watch = watchStockChanges({ store, feed, keptSinceMs });
  const messages = await watch(create(WatchStockChangesRequestSchema), {
    signal: new AbortController().signal,
  } as Call);
  let read = 0;
  for await (const item of messages) {
    read += item instanceof MessageGroup ? item.messages.length : 0;
    if (read === count) {
      return;
    }
  }
}

/** Begins a stream after a revision. Each call reads on up to another one, and resolves to the revisions of what came. */
function watchAfter(
  after: bigint,
  feed: StockFeed,
  store: WatchOptions["store"] = opened.store,
): (upTo: bigint) => Promise<bigint[]> {
  const revisions: bigint[] = [];
  async function* messages() {
    const { lineage } = await store.historyBounds(0);
    const request = create(WatchStockChangesRequestSchema, { after: issueCursor(lineage, after) });
    const watch = watchStockChanges({ store, feed, keptSinceMs: () => 0 });
    yield* await watch(request, { signal: new AbortController().signal } as Call);
  }
  const stream = messages();
  return async (upTo) => {
    while ((revisions.at(-1) ?? 0n) < upTo) {
      const { value } = await stream.next();
      if (value instanceof MessageGroup) {
        revisions.push(...value.messages.map(({ change }) => change?.revision as bigint));
      }
    }
    return revisions;
  };
}

/** All revisions after one, up to another one. */
function revisionsBetween(after: bigint, upTo: bigint): bigint[] {
  return Array.from({ length: Number(upTo - after) }, (_, index) => after + BigInt(index + 1));
}

describe("streams that catch up", () => {
  it.each([1, 5])("let other calls go on: %i of them", async (streams) => {
    const feed = createFeed();
    const before = turns;
    await Promise.all(Array.from({ length: streams }, () => read(feed)));
    // No two batches share a turn, whichever streams they are for.
    expect(turns - before).toBeGreaterThanOrEqual((streams * changeCount) / batchSize);
  });

  it("miss none of the changes that were part of the history when they began, while their time ends", async () => {
    for (const nowMs of [1, 2, 3]) {
      await opened.store.importAll({ pets: [createPet({ id: 1n })] }, nowMs);
    }
    let keptSinceMs = 0;
    await read(createFeed(), 3, () => {
      keptSinceMs += 1;
      return keptSinceMs;
    });
  });

  it("end with CURSOR_EXPIRED where housekeeping deletes their next changes right before these are read", async () => {
    await opened.store.importAll({ pets: [createPet({ id: 1n })] }, 10);
    let lists = 0;
    const store: WatchOptions["store"] = {
      historyBounds: (keptSinceMs) => opened.store.historyBounds(keptSinceMs),
      getEntry: (petId) => opened.store.getEntry(petId),
      async listChanges(query) {
        lists += 1;
        if (lists === 2) {
          await opened.store.deleteOutdated(5, 10);
        }
        return await opened.store.listChanges(query);
      },
    };
    const reading = read(createFeed(), batchSize + 1, undefined, store);
    await expect(reading).rejects.toMatchObject({ code: "CURSOR_EXPIRED" });
    expect(lists).toBe(2);
  });

  it("end with CURSOR_EXPIRED where a server has stood still while others deleted their next changes", async () => {
    const stock = createStock();
    const feed = createFeed(stock);
    const watch = watchStockChanges({ store: opened.store, feed, keptSinceMs: () => 0 });
    const call = { signal: new AbortController().signal } as Call;
    const messages = (await watch(create(WatchStockChangesRequestSchema), call))[Symbol.asyncIterator]();
    for (let read = 0; read < changeCount; ) {
      const { value } = await messages.next();
      read += value instanceof MessageGroup ? value.messages.length : 0;
    }
    const next = messages.next();
    await opened.store.importAll({ pets: [1n, 2n].map((id) => createPet({ id, quantity: 77n })) }, 10);
    await opened.store.importAll({ pets: [createPet({ id: 3n, quantity: 77n })] }, 20);
    while (await opened.store.deleteOutdated(15, 30)) {}
    stock.invalidate();
    await expect(next).rejects.toMatchObject({ code: "CURSOR_EXPIRED" });
  });

  it("end with CURSOR_EXPIRED where another store is in place before they have read what they asked for", async () => {
    let lists = 0;
    const store: WatchOptions["store"] = {
      async historyBounds(keptSinceMs) {
        const bounds = await opened.store.historyBounds(keptSinceMs);
        return lists === 0 ? bounds : { ...bounds, lineage: "0123456789ab" };
      },
      getEntry: (petId) => opened.store.getEntry(petId),
      listChanges(query) {
        lists += 1;
        return opened.store.listChanges(query);
      },
    };
    const reading = read(createFeed(), changeCount, undefined, store);
    await expect(reading).rejects.toMatchObject({ code: "CURSOR_EXPIRED" });
  });

  it("have each change once where they come into the middle of what others are sent", async () => {
    const stock = createStock();
    const feed = createFeed(stock);
    const ahead = watchAfter(1_999n, feed);
    await ahead(2_000n);
    const behind = watchAfter(1_730n, feed);
    await behind(1_731n);
    await opened.store.importAll({ pets: createPets(50, { quantity: 7n }) }, 1);
    stock.invalidate();
    expect(await ahead(2_050n)).toEqual(revisionsBetween(1_999n, 2_050n));
    expect(await behind(2_050n)).toEqual(revisionsBetween(1_730n, 2_050n));
  });

  it("miss no change that is made right after they have read the last one", async () => {
    const setStock = (quantity: bigint) => opened.store.importAll({ pets: [createPet({ id: 1n, quantity })] }, 1);
    let lists = 0;
    const store: WatchOptions["store"] = {
      historyBounds: (keptSinceMs) => opened.store.historyBounds(keptSinceMs),
      getEntry: (petId) => opened.store.getEntry(petId),
      async listChanges(query) {
        const page = await opened.store.listChanges(query);
        lists += 1;
        if (lists === 2) {
          await setStock(7n);
        }
        return page;
      },
    };
    const stock = createStock();
    const read = watchAfter(1_850n, createFeed(stock), store);
    await read(2_000n);
    await setStock(8n);
    stock.invalidate();
    expect(await read(2_002n)).toEqual(revisionsBetween(1_850n, 2_002n));
  });
});

describe("the feed that streams share", () => {
  it("keeps the last 4,000 changes", async () => {
    const stock = createStock();
    const feed = createFeed(stock);
    const { lineage } = await opened.store.historyBounds(0);
    await feed.join(() => {}, lineage);
    await opened.store.importAll({ pets: createPets(5_000, { quantity: 7n }) }, 1);
    stock.invalidate();
    await expect.poll(() => feed.hasReached(6_999n)).toBe(false);
    const known = [2_000n, 2_999n, 3_000n, 6_999n].map((revision) => feed.blockAfter(revision) !== undefined);
    expect(known).toEqual([false, false, true, true]);
  });

  it("has no changes of another store that comes into place while it reads them", async () => {
    const { bounds, store } = await followByHand();
    const stock = createStock(store);
    const replaced: HistoryFollowing = {
      ...store,
      listChanges(query) {
        bounds.lineage = "0123456789ab";
        return store.listChanges(query);
      },
    };
    const feed = new StockFeed(replaced, stock, () => {});
    const isTold = Promise.withResolvers<void>();
    await feed.join(isTold.resolve, bounds.lineage);
    await opened.store.importAll({ pets: createPets(10, { quantity: 7n }) }, 1);
    bounds.head = 2_010n;
    stock.invalidate();
    await isTold.promise;
    expect([feed.hasReached(2_000n), feed.blockAfter(2_000n)]).toEqual([false, undefined]);
  });

  it("has nothing of the history that it was reading when another store came into the place of that one", async () => {
    const { bounds, store } = await followByHand();
    const stock = createStock(store);
    const isRead = Promise.withResolvers<void>();
    const isAsked = Promise.withResolvers<void>();
    const slow: HistoryFollowing = {
      ...store,
      async listChanges(query) {
        const page = await store.listChanges(query);
        isAsked.resolve();
        await isRead.promise;
        return page;
      },
    };
    const feed = new StockFeed(slow, stock, () => {});
    await feed.join(() => {}, bounds.lineage);
    await opened.store.importAll({ pets: createPets(10, { quantity: 7n }) }, 1);
    bounds.head = 2_010n;
    stock.invalidate();
    await isAsked.promise;
    Object.assign(bounds, { lineage: "0123456789ab", head: 2_000n });
    stock.invalidate();
    await stock.caughtUp();
    const isTold = Promise.withResolvers<void>();
    await feed.join(isTold.resolve, bounds.lineage);
    isRead.resolve();
    await isTold.promise;
    expect([feed.hasReached(2_000n), feed.blockAfter(2_000n)]).toEqual([true, undefined]);
  });
});
