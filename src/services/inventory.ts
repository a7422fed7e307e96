import { create } from "@bufbuild/protobuf";
import type { ServiceImpl } from "@connectrpc/connect";
import {
  type InventoryService,
  type ListInventoryResponse,
  ListInventoryResponseSchema,
} from "../../gen/petstore/v1/inventory_service_pb.ts";
import { deadlineExceeded } from "../domain/errors.ts";
import type { InventoryItem } from "../domain/inventory.ts";
import type { PetStatus } from "../domain/pet.ts";
import type { PetStore } from "../domain/store.ts";
import { answerList, type MessageList } from "./list.ts";
import { petStatusFromMessage, petStatusToMessage } from "./pet-status.ts";

/**
 * The RPCs of the inventory. Of each update it says so, before it is answered, and whether or not it has succeeded: of
 * one that fails, nobody knows what has become.
 */
export function inventoryService(
  store: PetStore,
  onUpdate: (petId: bigint) => void,
): ServiceImpl<typeof InventoryService> {
  const inventory: MessageList<InventoryItem, PetStatus, ListInventoryResponse> = {
    name: "inventory",
    read: store.listInventory.bind(store),
    idOf: ({ petId }) => petId,
    toMessage: (items, nextPageToken) =>
      create(ListInventoryResponseSchema, { items: items.map(inventoryItemToMessage), nextPageToken }),
  };
  return {
    listInventory: ({ pageSize, pageToken, status }) =>
      answerList(inventory, {
        pageSize,
        pageToken: pageToken || undefined,
        statuses: status.map(petStatusFromMessage),
      }),

    async updateInventory({ petId, update }, { timeoutMs }) {
      // A caller whose deadline has passed has been told so: nothing may change after that.
      if ((timeoutMs() ?? 1) <= 0) {
        throw deadlineExceeded();
      }
      try {
        const item = await store.updateInventory(petId, update?.quantity as bigint);
        return { item: inventoryItemToMessage(item) };
      } finally {
        onUpdate(petId);
      }
    },
  };
}

/** The fields of the message that stands for an entry. */
export function inventoryItemToMessage({ petId, quantity, status }: InventoryItem) {
  return { petId, quantity, status: petStatusToMessage(status) };
}
