import { InventoryItemSchema } from "../../gen/petstore/v1/inventory_pb.ts";
import type { DomainError } from "../domain/errors.ts";
import { keptSinceMs } from "../domain/history.ts";
import type { InventoryItem } from "../domain/pet.ts";
import type { Store } from "../domain/store/store.ts";
import type { JsonWriters } from "../gateway/json/json-writer.ts";
import { callerKey } from "../interceptors/auth.ts";
import { errorStatuses } from "../interceptors/errors.ts";
import { idempotencyKey } from "../interceptors/idempotency.ts";
import { holdService } from "../services/holds.ts";
import { inventoryService } from "../services/inventory.ts";
import { restListInventory } from "../services/inventory-list.ts";
import { InventoryListCache } from "../services/inventory-list-cache.ts";
import { inventoryItemToMessage } from "../services/messages.ts";
import { StockRevision } from "../services/stock-revision.ts";
import { createStockWriter } from "../services/stock-writer.ts";
import { StockFeed } from "../services/watch.ts";
import type { ExternalChangeWatcher } from "../storage/external-changes.ts";

/** What the services of the stock need. */
export interface StockServiceOptions {
  readonly store: Store;
  readonly externalChanges: ExternalChangeWatcher;
  readonly clock: () => number;
  readonly historyRetentionMs: number;
  /** Hears how long changes took until all streams had been handed them, in milliseconds. */
  readonly observeLag: (lagMs: number) => void;
  /** Writes messages in the JSON of REST. */
  readonly writers: JsonWriters;
}

/** Creates the services of the stock. The inventory differs over REST, where the whole list comes from a cache. */
export function createStockServices({
  store,
  externalChanges,
  clock,
  historyRetentionMs,
  observeLag,
  writers,
}: StockServiceOptions) {
  const writeMessage = writers.message(InventoryItemSchema);
  const listCache = new InventoryListCache({
    read: (range) => store.listInventory({ statuses: [], ...range }),
    write: (item: InventoryItem) => writeMessage(inventoryItemToMessage(item)),
  });
  const stock = new StockRevision(store, listCache, store.listServers !== undefined);
  const invalidate = () => stock.invalidate();
  externalChanges.subscribe("stock", invalidate);
  const feed = new StockFeed(store, stock, (madeAtMs) => observeLag(clock() - madeAtMs));

  const write = createStockWriter({ clock, callerKey, idempotencyKey, onUncertain: invalidate });
  const inventory = inventoryService({
    store,
    stock,
    feed,
    write,
    clock,
    keptSinceMs: () => keptSinceMs(historyRetentionMs, clock()),
    errorToMessage,
  });
  return {
    inventory,
    restInventory: { ...inventory, listInventory: restListInventory(inventory.listInventory, { listCache, stock }) },
    holds: holdService({ store, write, clock }),
    listCache,
  };
}

/** The message `petstore.v1.Error`, as a request of its own would be answered. */
function errorToMessage({ code, message }: DomainError) {
  return { code, message, status: errorStatuses[code].http };
}
