import type { MessageInitShape } from "@bufbuild/protobuf";
import type { ErrorSchema } from "../../gen/petstore/v1/error_pb.ts";
import type { InventoryChange } from "../../gen/petstore/v1/inventory_pb.ts";
import type { InventoryService, ListStockChangesRequest } from "../../gen/petstore/v1/inventory_service_pb.ts";
import type { DomainError } from "../domain/errors.ts";
import { readChangePage } from "../domain/page.ts";
import { parseIfMatch, type StockCommand, stockRefusalError } from "../domain/stock.ts";
import type { BatchOutcome, StockStore } from "../domain/store.ts";
import type { ServiceMethods } from "../rpc/endpoint.ts";
import { type InventoryListOptions, listInventory } from "./inventory-list.ts";
import { changeToMessage, entryToMessage, inventoryItemToMessage } from "./messages.ts";
import type { StockWriter } from "./stock-writer.ts";
import { type WatchOptions, watchStockChanges } from "./watching.ts";

/** What the inventory needs. */
interface InventoryServiceOptions extends InventoryListOptions, WatchOptions {
  readonly store: StockStore;
  readonly write: StockWriter;
  readonly clock: () => number;
  /** Makes the message of an error in the answer to a batch. */
  readonly errorToMessage: (error: DomainError) => MessageInitShape<typeof ErrorSchema>;
}

/** The RPCs of the inventory. */
export function inventoryService(options: InventoryServiceOptions): ServiceMethods<typeof InventoryService> {
  const { store, write, clock, keptSinceMs } = options;
  return {
    listInventory: listInventory(options),
    watchStockChanges: watchStockChanges(options),

    async getInventory({ petId }) {
      return entryToMessage(await store.getEntry(petId));
    },

    async getAvailability({ petId }) {
      return { availability: await store.getAvailability(petId, clock()) };
    },

    async listStockChanges(request) {
      const { pet, petId, crossing, newestFirst, after, pageSize, pageToken } = request;
      const petIds = petsOf(request);
      const asked = { petIds, crossing, newestFirst, after, pageSize, pageToken: pageToken || undefined };
      const { changes, lineage, nextPageToken = "" } = await readChangePage(store, asked, keptSinceMs());
      if (pet !== undefined && petId.length > 0) {
        // The read throws `PET_NOT_FOUND` only for a pet that both filters let through.
        await Promise.all([pet, ...petId].map((id) => store.getEntry(id)));
      }
      return { changes: changes.map((change) => changeToMessage(change, lineage)), nextPageToken };
    },

    async updateInventory({ petId, update, etag }, call) {
      const command = toCommand({ petId, ...update, etag });
      return entryToMessage(await write(call, (context) => store.changeStock(command, context)));
    },

    async adjustInventory({ petId, adjustment, etag }, call) {
      const command = toCommand({ petId, ...adjustment, etag });
      return entryToMessage(await write(call, (context) => store.changeStock(command, context)));
    },

    async batchUpdateInventory({ changes, atomic }, call) {
      const commands = changes.map(toCommand);
      const outcomes = await write(call, (context) => store.changeStockInBatch(commands, atomic, context));
      return { results: commands.map((command, index) => toResult(command, outcomes[index] as BatchOutcome, options)) };
    },
  };
}

/** The pets that both filters let through: empty for all pets, undefined for none. */
function petsOf({ pet, petId }: ListStockChangesRequest): readonly bigint[] | undefined {
  if (pet === undefined || petId.length === 0) {
    return pet === undefined ? petId : [pet];
  }
  return petId.includes(pet) ? [pet] : undefined;
}

type ChangeFields = "petId" | "quantity" | "delta" | "allowNegative" | "reason" | "reference" | "etag";

/**
 * The command of a change. The field rules guarantee a pet, and either a quantity or a delta. An `etag` within a batch
 * is a strong one or `*`.
 */
function toCommand(change: Partial<Pick<InventoryChange, ChangeFields>>): StockCommand {
  const { quantity, delta, allowNegative = false, reason, reference, etag } = change;
  const versions = etag === undefined ? undefined : parseIfMatch(etag);
  const common = { petId: change.petId as bigint, versions, reason, reference };
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
