import { create } from "@bufbuild/protobuf";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { WatchStockChangesRequestSchema } from "../../gen/petstore/v1/inventory_service_pb.ts";
import type { Call } from "../../src/rpc/call.ts";
import { MessageGroup } from "../../src/rpc/prepared-message.ts";
import { StockFeed } from "../../src/services/stock-feed.ts";
import { StockRevision } from "../../src/services/stock-revision.ts";
import { watchStockChanges } from "../../src/services/watching.ts";
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

/** Reads all changes as fast as they come. */
async function readAll(feed: StockFeed): Promise<void> {
  const watch = watchStockChanges({ store: opened.store, feed, keptSinceMs: () => 0 });
  const messages = await watch(create(WatchStockChangesRequestSchema), {
    signal: new AbortController().signal,
  } as Call);
  let read = 0;
  for await (const item of messages) {
    read += item instanceof MessageGroup ? item.messages.length : 0;
    if (read === changeCount) {
      return;
    }
  }
}

describe("streams that catch up", () => {
  it.each([1, 5])("let other calls go on: %i of them", async (streams) => {
    const listener = { changed: () => {}, allChanged: () => {} };
    const feed = new StockFeed(opened.store, new StockRevision(opened.store, listener), () => {});
    const before = turns;
    await Promise.all(Array.from({ length: streams }, () => readAll(feed)));
    // No two batches share a turn, whichever streams they are for.
    expect(turns - before).toBeGreaterThanOrEqual((streams * changeCount) / batchSize);
  });
});
