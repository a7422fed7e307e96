import { create } from "@bufbuild/protobuf";
import {
  type InventoryService,
  type ListInventoryResponse,
  ListInventoryResponseSchema,
} from "../../gen/petstore/v1/inventory_service_pb.ts";
import { deadlineExceeded, storeUnavailable } from "../domain/errors.ts";
import type { InventoryItem } from "../domain/inventory.ts";
import type { PetStatus } from "../domain/pet.ts";
import type { PetStore } from "../domain/pet-store.ts";
import type { UnaryServiceImpl } from "../rpc/endpoint.ts";
import type { InventoryListCache } from "./inventory-list-cache.ts";
import { answerList, type MessageList } from "./list.ts";
import { petStatusFromMessage, petStatusToMessage } from "./pet-status.ts";

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
      // A caller whose deadline has passed has been told so: nothing may change after that.
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
 * How long an update is waited for at least, once it is on its way to the disk, in milliseconds. Only a disk that
 * stands still takes longer: so no deadline, however short, makes an update fail on a disk that is well.
 */
const diskPatienceMs = 1_000;

/**
 * Waits for an update until the caller's deadline. Past it the update may still be made, as soon as the disk answers,
 * so that `DEADLINE_EXCEEDED`, by which nothing changes, would not be true. Rejects with `UNAVAILABLE`.
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
  return { petId, quantity, status: petStatusToMessage(status) };
}
