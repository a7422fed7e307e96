import type { MessageInitShape } from "@bufbuild/protobuf";
import type { ErrorSchema } from "../../gen/petstore/v1/error_pb.ts";
import type { InventoryChange } from "../../gen/petstore/v1/inventory_pb.ts";
import type {
  AdjustInventoryRequest,
  InventoryService,
  UpdateInventoryRequest,
} from "../../gen/petstore/v1/inventory_service_pb.ts";
import type { DomainError } from "../domain/errors.ts";
import { parseIfMatch, type StockCommand, stockRefusalError } from "../domain/stock.ts";
import type { BatchOutcome, StockStore } from "../domain/store.ts";
import type { ServiceMethods } from "../rpc/endpoint.ts";
import { listStockChanges } from "./history.ts";
import { type InventoryListOptions, listInventory } from "./inventory-list.ts";
import { entryToMessage, inventoryItemToMessage } from "./messages.ts";
import type { StockWriter } from "./stock-writer.ts";
import { type WatchOptions, watchStockChanges } from "./watching.ts";

/** What the inventory needs. */
export interface InventoryServiceOptions extends InventoryListOptions, WatchOptions {
  readonly store: StockStore;
  readonly write: StockWriter;
  readonly clock: () => number;
  /** Makes the message of an error in the answer to a batch. */
  readonly errorToMessage: (error: DomainError) => MessageInitShape<typeof ErrorSchema>;
}

/** The RPCs of the inventory. */
export function inventoryService(options: InventoryServiceOptions): ServiceMethods<typeof InventoryService> {
  const { store, write, clock } = options;
  return {
    listInventory: listInventory(options),
    listStockChanges: listStockChanges(options),
    watchStockChanges: watchStockChanges(options),

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

    async batchUpdateInventory({ changes, atomic }, call) {
      const commands = changes.map(toCommand);
      const outcomes = await write(call, (context) => store.changeStockInBatch(commands, atomic, context));
      return { results: commands.map((command, index) => toResult(command, outcomes[index] as BatchOutcome, options)) };
    },
  };
}

/** The field rules guarantee an update with a quantity. */
function toUpdate({ petId, update, etag }: UpdateInventoryRequest): StockCommand {
  const { quantity, reason, reference } = update as NonNullable<typeof update>;
  return { kind: "set", petId, quantity: quantity as bigint, reason, reference, versions: parseIfMatch(etag) };
}

/** The field rules guarantee an adjustment with a delta. */
function toAdjustment({ petId, adjustment, etag }: AdjustInventoryRequest): StockCommand {
  const { delta, allowNegative, reason, reference } = adjustment as NonNullable<typeof adjustment>;
  return {
    kind: "adjust",
    petId,
    delta: delta as bigint,
    allowNegative,
    reason,
    reference,
    versions: parseIfMatch(etag),
  };
}

/** The field rules guarantee a pet, and either a quantity or a delta. An `etag` is a strong one or `*`. */
function toCommand(change: InventoryChange): StockCommand {
  const { quantity, delta, allowNegative, reason, reference, etag } = change;
  const common = { petId: change.petId as bigint, versions: parseIfMatch(etag), reason, reference };
  return quantity === undefined
    ? { ...common, kind: "adjust", delta: delta as bigint, allowNegative }
    : { ...common, kind: "set", quantity };
}

/** The result of one change of a batch. */
function toResult(
  { petId }: StockCommand,
  outcome: BatchOutcome,
  { errorToMessage }: Pick<InventoryServiceOptions, "errorToMessage">,
) {
  return outcome.outcome === "done"
    ? { petId, item: inventoryItemToMessage(outcome.entry) }
    : { petId, error: errorToMessage(stockRefusalError(petId, outcome)) };
}
