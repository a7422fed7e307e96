import type {
  AdjustInventoryRequest,
  InventoryService,
  UpdateInventoryRequest,
} from "../../gen/petstore/v1/inventory_service_pb.ts";
import { parseIfMatch } from "../domain/etag.ts";
import type { StockCommand } from "../domain/stock.ts";
import type { StockStore } from "../domain/store/stock-store.ts";
import type { ServiceMethods } from "../rpc/endpoint.ts";
import { type BatchOptions, batchUpdateInventory } from "./batch.ts";
import { type HistoryServiceOptions, listStockChanges } from "./history.ts";
import { type InventoryListOptions, listInventory } from "./inventory-list.ts";
import { entryToMessage } from "./inventory-message.ts";
import { type WatchOptions, watchStockChanges } from "./watch.ts";

/** What the inventory needs. */
export interface InventoryServiceOptions
  extends InventoryListOptions,
    HistoryServiceOptions,
    BatchOptions,
    WatchOptions {
  readonly store: StockStore;
  readonly clock: () => number;
}

/** The RPCs of the inventory. */
export function inventoryService(options: InventoryServiceOptions): ServiceMethods<typeof InventoryService> {
  const { store, write, clock } = options;
  return {
    listInventory: listInventory(options),
    listStockChanges: listStockChanges(options),
    watchStockChanges: watchStockChanges(options),
    batchUpdateInventory: batchUpdateInventory(options),

    async getInventory({ petId }) {
      return entryToMessage(await store.getEntry(petId));
    },

    async getAvailability({ petId }) {
      return { availability: await store.getAvailability(petId, clock()) };
    },

    async updateInventory(request, call) {
      const command = toUpdate(request);
      return entryToMessage(await write(call, (context) => store.changeStock(command, context)));
    },

    async adjustInventory(request, call) {
      const command = toAdjustment(request);
      return entryToMessage(await write(call, (context) => store.changeStock(command, context)));
    },
  };
}

/** The field rules say that there is an update, and a quantity in it. */
function toUpdate({ petId, update, etag }: UpdateInventoryRequest): StockCommand {
  const { quantity, reason, reference } = update as NonNullable<typeof update>;
  return { kind: "set", petId, quantity: quantity as bigint, reason, reference, versions: versionsOf(etag) };
}

/** The field rules say that there is an adjustment, and a delta in it. */
function toAdjustment({ petId, adjustment, etag }: AdjustInventoryRequest): StockCommand {
  const { delta, allowNegative, reason, reference } = adjustment as NonNullable<typeof adjustment>;
  return {
    kind: "adjust",
    petId,
    delta: delta as bigint,
    allowNegative,
    reason,
    reference,
    versions: versionsOf(etag),
  };
}

function versionsOf(etag: string | undefined): readonly string[] | undefined {
  return etag === undefined ? undefined : parseIfMatch(etag);
}
