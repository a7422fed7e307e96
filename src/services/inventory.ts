import type { ServiceImpl } from "@connectrpc/connect";
import type { InventoryService, ListInventoryRequest } from "../../gen/petstore/v1/inventory_service_pb.ts";
import { deadlineExceeded } from "../domain/errors.ts";
import type { InventoryItem } from "../domain/inventory.ts";
import { type PageRequest, readPage } from "../domain/page.ts";
import type { PetStatus } from "../domain/pet.ts";
import type { PetStore } from "../domain/store.ts";
import { petStatusFromMessage, petStatusToMessage } from "./pet-status.ts";

/** The name that the tokens of the list's pages are bound to. */
export const inventoryListName = "inventory";

/**
 * The RPCs of the inventory. Of each update it says so, before it is answered, and whether or not it has succeeded: of
 * one that fails, nobody knows what has become.
 */
export function inventoryService(
  store: PetStore,
  onUpdate: (petId: bigint) => void,
): ServiceImpl<typeof InventoryService> {
  const inventory = {
    name: inventoryListName,
    read: store.listInventory.bind(store),
    idOf: (item: InventoryItem) => item.petId,
  };
  return {
    async listInventory(request) {
      const { items, nextPageToken = "" } = await readPage(inventory, pageRequestFromMessage(request));
      return { items: items.map(inventoryItemToMessage), nextPageToken };
    },

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

/** The page that a message asks for. */
export function pageRequestFromMessage({ pageSize, pageToken, status }: ListInventoryRequest): PageRequest<PetStatus> {
  return { pageSize, pageToken: pageToken || undefined, statuses: status.map(petStatusFromMessage) };
}

/** The fields of the message that stands for an entry. */
export function inventoryItemToMessage({ petId, quantity, status }: InventoryItem) {
  return { petId, quantity, status: petStatusToMessage(status) };
}
