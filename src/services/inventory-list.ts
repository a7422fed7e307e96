import { clone, create, toBinary } from "@bufbuild/protobuf";
import {
  type InventoryService,
  type ListInventoryRequest,
  type ListInventoryResponse,
  ListInventoryResponseSchema,
} from "../../gen/petstore/v1/inventory_service_pb.ts";
import type { InventoryItem } from "../domain/catalog.ts";
import { issueCursor } from "../domain/history.ts";
import type { StockStore } from "../domain/store.ts";
import type { ServiceMethods } from "../rpc/endpoint.ts";
import { PreparedMessage } from "../rpc/prepared-message.ts";
import type { InventoryListCache } from "./inventory-list-cache.ts";
import { answerList } from "./list.ts";
import { inventoryItemToMessage, petStatusFromMessage } from "./messages.ts";
import type { StockPosition, StockRevision } from "./stock-revision.ts";

type ListInventory = ServiceMethods<typeof InventoryService>["listInventory"];

/** What lists of the inventory need. */
export interface InventoryListOptions {
  readonly store: Pick<StockStore, "listInventory">;
  readonly stock: Pick<StockRevision, "caughtUp">;
}

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

/** The same over REST: lists carry an `ETag`, and the whole list is sent as JSON from the cache. */
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
