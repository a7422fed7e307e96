import type { MessageInitShape } from "@bufbuild/protobuf";
import type { ErrorSchema } from "../../gen/petstore/v1/error_pb.ts";
import type { InventoryChange } from "../../gen/petstore/v1/inventory_pb.ts";
import type { InventoryService } from "../../gen/petstore/v1/inventory_service_pb.ts";
import type { DomainError } from "../domain/errors.ts";
import { fromEtag } from "../domain/etag.ts";
import { type StockCommand, stockRefusalError } from "../domain/stock.ts";
import type { BatchOutcome, StockStore } from "../domain/store/stock-store.ts";
import type { ServiceMethods } from "../rpc/endpoint.ts";
import { inventoryItemToMessage } from "./inventory-message.ts";
import type { StockWriter } from "./stock-writer.ts";

/** What batches need. */
export interface BatchOptions {
  readonly store: Pick<StockStore, "changeStockInBatch">;
  readonly write: StockWriter;
  /** The message that an error is in an answer. */
  readonly errorToMessage: (error: DomainError) => MessageInitShape<typeof ErrorSchema>;
}

/** The RPC that makes many changes in one request. */
export function batchUpdateInventory({
  store,
  write,
  errorToMessage,
}: BatchOptions): ServiceMethods<typeof InventoryService>["batchUpdateInventory"] {
  function toResult({ petId }: StockCommand, outcome: BatchOutcome) {
    return outcome.outcome === "done"
      ? { petId, item: inventoryItemToMessage(outcome.entry) }
      : { petId, error: errorToMessage(stockRefusalError(petId, outcome)) };
  }
  return async ({ changes, atomic }, call) => {
    const commands = changes.map((change) => toCommand(change));
    const outcomes = await write(call, (context) => store.changeStockInBatch(commands, atomic, context));
    return { results: commands.map((command, index) => toResult(command, outcomes[index] as BatchOutcome)) };
  };
}

/** The field rules say that a change has a pet, one of a quantity and a delta, and no `etag` but a strong one or `*`. */
function toCommand(change: InventoryChange): StockCommand {
  const { quantity, delta, allowNegative, reason, reference, etag } = change;
  const versions = etag === undefined || etag === "*" ? undefined : [fromEtag(etag)];
  const common = { petId: change.petId as bigint, versions, reason, reference };
  return quantity === undefined
    ? { ...common, kind: "adjust", delta: delta as bigint, allowNegative }
    : { ...common, kind: "set", quantity };
}
