import { create } from "@bufbuild/protobuf";
import {
  type InventoryService,
  type ListInventoryRequest,
  type ListInventoryResponse,
  ListInventoryResponseSchema,
} from "../../gen/petstore/v1/inventory_service_pb.ts";
import { deadlineExceeded, storeUnavailable } from "../domain/errors.ts";
import type { InventoryItem, PetStatus } from "../domain/pet.ts";
import type { PetStore } from "../domain/pet-store.ts";
import type { UnaryServiceImpl } from "../rpc/endpoint.ts";
import { PreparedMessage } from "../rpc/prepared-message.ts";
import { petStatusFromMessage, petStatusMessages } from "./enum-maps.ts";
import type { InventoryListCache } from "./inventory-list-cache.ts";
import { answerList, type MessageList } from "./list.ts";

/** The RPCs of the inventory. Updates mark the entry in the list cache as stale. */
export function inventoryService(
  store: PetStore,
  listCache: Pick<InventoryListCache, "markStale">,
): UnaryServiceImpl<typeof InventoryService> {
  const inventory: MessageList<InventoryItem, PetStatus, ListInventoryResponse> = {
    name: "inventory",
    read: store.listInventory.bind(store),
    idOf: ({ petId }) => petId,
    toMessage: (items, nextPageToken) =>
      create(ListInventoryResponseSchema, { items: items.map(inventoryItemToMessage), nextPageToken }),
  };
  async function setStock(petId: bigint, quantity: bigint): Promise<InventoryItem> {
    try {
      return await store.updateInventory(petId, quantity);
    } finally {
      // Even a failed update may have been committed.
      listCache.markStale(petId);
    }
  }

  return {
    listInventory: ({ pageSize, pageToken, status }) =>
      answerList(inventory, {
        pageSize,
        pageToken: pageToken || undefined,
        statuses: status.map(petStatusFromMessage),
      }),

    async updateInventory({ petId, update }, { timeoutMs }) {
      const leftMs = timeoutMs();
      // The caller has been told that its deadline has passed, by which nothing may change.
      if (leftMs !== undefined && leftMs <= 0) {
        throw deadlineExceeded();
      }
      const updating = setStock(petId, update?.quantity as bigint);
      const item = await (leftMs === undefined ? updating : settledWithin(Math.max(leftMs, diskPatienceMs), updating));
      return { item: inventoryItemToMessage(item) };
    },
  };
}

/**
 * The least time that an update on its way to the disk gets, in milliseconds. Only a stuck disk takes longer, so a short
 * deadline makes no update fail on a healthy one.
 */
const diskPatienceMs = 1_000;

/**
 * Waits for an update until the deadline, then rejects with `UNAVAILABLE`. The update may still be made when the disk
 * answers. So `DEADLINE_EXCEEDED`, which promises that nothing has changed, would be wrong.
 */
async function settledWithin<T>(ms: number, updating: Promise<T>): Promise<T> {
  const { promise: passed, reject } = Promise.withResolvers<never>();
  const reason = () => storeUnavailable(new Error("an update still waited for the disk at its deadline"));
  const timer = setTimeout(() => reject(reason()), ms);
  try {
    return await Promise.race([updating, passed]);
  } finally {
    clearTimeout(timer);
  }
}

/** The fields of the message that stands for an entry. */
export function inventoryItemToMessage({ petId, quantity, status }: InventoryItem) {
  return { petId, quantity, status: petStatusMessages[status] };
}

/** The RPCs of the inventory over REST: lists carry an `ETag`, and the whole list is sent as JSON from the cache. */
export function restInventoryService(
  service: UnaryServiceImpl<typeof InventoryService>,
  listCache: InventoryListCache,
): UnaryServiceImpl<typeof InventoryService> {
  return {
    ...service,
    async listInventory(request, context) {
      // The tag may be older than what is read, never newer, so that it hides no change.
      const { etag } = listCache;
      const list = () => service.listInventory(request, context);
      const response = isWhole(request) ? await fromCache(listCache, list) : await list();
      context.responseHeader.set("etag", etag);
      return response;
    },
  };
}

/** `list` makes the same list as a message. */
async function fromCache(
  listCache: InventoryListCache,
  list: () => ReturnType<UnaryServiceImpl<typeof InventoryService>["listInventory"]>,
): Promise<PreparedMessage<ListInventoryResponse>> {
  const restBody = await listCache.list();
  return new PreparedMessage({
    restBody,
    async whole() {
      const response = await list();
      return response instanceof PreparedMessage
        ? await response.whole()
        : create(ListInventoryResponseSchema, response);
    },
  });
}

function isWhole({ pageSize, pageToken, status }: ListInventoryRequest): boolean {
  return pageSize === undefined && pageToken === "" && status.length === 0;
}
