import { clone, create, type MessageInitShape, toBinary } from "@bufbuild/protobuf";
import type { ErrorSchema } from "../../gen/petstore/v1/error_pb.ts";
import type { InventoryChange } from "../../gen/petstore/v1/inventory_pb.ts";
import {
  type InventoryService,
  type ListInventoryRequest,
  type ListInventoryResponse,
  ListInventoryResponseSchema,
  type ListStockChangesRequest,
} from "../../gen/petstore/v1/inventory_service_pb.ts";
import type { InventoryItem } from "../domain/catalog.ts";
import type { DomainError } from "../domain/errors.ts";
import { issueCursor } from "../domain/history.ts";
import { readChangePage } from "../domain/page.ts";
import { parseIfMatch, type StockCommand, stockRefusalError } from "../domain/stock.ts";
import type { BatchOutcome, StockStore } from "../domain/store.ts";
import type { ServiceMethods } from "../rpc/endpoint.ts";
import { PreparedMessage } from "../rpc/prepared-message.ts";
import type { InventoryListCache } from "./inventory-list-cache.ts";
import { answerList } from "./list.ts";
import { changeToMessage, entryToMessage, inventoryItemToMessage, petStatusFromMessage } from "./messages.ts";
import type { StockPosition, StockRevision } from "./stock-revision.ts";
import type { StockWriter } from "./stock-writer.ts";
import { type WatchOptions, watchStockChanges } from "./watching.ts";

/** What lists of the inventory need. */
interface InventoryListOptions {
  readonly store: Pick<StockStore, "listInventory">;
  readonly stock: Pick<StockRevision, "caughtUp">;
}

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

type ListInventory = ServiceMethods<typeof InventoryService>["listInventory"];

/**
 * The RPC that lists the inventory. A list without a page size is the stock at its cursor, however long the answer
 * takes. A page is the stock when it is read: with all changes up to its cursor, and maybe with later ones.
 *
 * The last short whole list is kept. It is the answer until the stock changes.
 */
export function listInventory({ store, stock }: InventoryListOptions): ListInventory {
  let last: { readonly position: StockPosition; readonly response: PreparedMessage<ListInventoryResponse> } | undefined;
  return async (request, call) => {
    const { pageSize, pageToken, status } = request;
    const isPage = pageSize !== undefined;
    const position = await stock.caughtUp();
    if (last?.position === position && isWhole(request)) {
      return last.response;
    }
    const { lineage, revision } = position;
    const asOf = isPage ? undefined : revision;
    const cursor = issueCursor(lineage, revision);
    const statuses = status.map(petStatusFromMessage);
    const inventory = {
      name: "inventory",
      filter: statuses,
      read: (after: bigint | undefined, limit: number) => store.listInventory({ statuses, after, limit, asOf }),
      positionOf: ({ petId }: InventoryItem) => petId,
      toMessage: (items: readonly InventoryItem[], nextPageToken: string) =>
        create(ListInventoryResponseSchema, { items: items.map(inventoryItemToMessage), nextPageToken, cursor }),
      fields: { cursor },
    };
    const response = await answerList(inventory, { pageSize, pageToken: pageToken || undefined }, call);
    if (response instanceof PreparedMessage || !isWhole(request)) {
      return response;
    }
    last = { position, response: prepareList(response) };
    return last.response;
  };
}

function prepareList(response: ListInventoryResponse): PreparedMessage<ListInventoryResponse> {
  let bytes: Uint8Array | undefined;
  return new PreparedMessage({
    // Interceptors may change what they get.
    whole: async () => clone(ListInventoryResponseSchema, response),
    binary: () => {
      bytes ??= toBinary(ListInventoryResponseSchema, response);
      return bytes;
    },
    fields: { cursor: response.cursor },
  });
}

/** `listInventory` over REST: lists carry an `ETag`, and the whole list is sent as JSON from the cache. */
export function restListInventory(
  list: ListInventory,
  { listCache, stock }: { readonly listCache: InventoryListCache } & Pick<InventoryListOptions, "stock">,
): ListInventory {
  /** The cached list with its cursor. `whole` makes the list as a message. */
  async function fromCache(whole: () => Promise<ListInventoryResponse>) {
    const { lineage } = await stock.caughtUp();
    const { revision, body } = await listCache.list();
    return new PreparedMessage({ restBody: body, whole, fields: { cursor: issueCursor(lineage, revision) } });
  }
  return async (request, call) => {
    const response = isWhole(request)
      ? await fromCache(async () => messageOf(await list(request, call)))
      : await list(request, call);
    const { cursor } = response instanceof PreparedMessage ? response.fields : response;
    // The tag is weak, because two lists with one cursor may differ: each may show changes after the cursor.
    call.responseHeader.set("etag", `W/"${cursor}"`);
    return response;
  };
}

async function messageOf(response: Awaited<ReturnType<ListInventory>>): Promise<ListInventoryResponse> {
  return response instanceof PreparedMessage ? await response.whole() : create(ListInventoryResponseSchema, response);
}

function isWhole({ pageSize, pageToken, status }: ListInventoryRequest): boolean {
  return pageSize === undefined && pageToken === "" && status.length === 0;
}
