import { create } from "@bufbuild/protobuf";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { WatchStockChangesRequestSchema } from "../../gen/petstore/v1/inventory_service_pb.ts";
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

let opened: OpenedStore;
/** Counts the turns of the event loop. */
let turns: number;
let counting: NodeJS.Immediate;

beforeEach(async () => {
  opened = await openNewSqlite({});
  const pets = Array.from({ length: changeCount }, (_, index) => createPet({ id: BigInt(index + 1) }));
  await opened.store.importAll({ pets }, 0);
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

function createFeed(): StockFeed {
  const listener = { changed: () => {}, allChanged: () => {} };
  return new StockFeed(opened.store, new StockRevision(opened.store, listener, false), () => {});
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
    const stock = new StockRevision(opened.store, { changed: () => {}, allChanged: () => {} }, false);
    const feed = new StockFeed(opened.store, stock, () => {});
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
});
