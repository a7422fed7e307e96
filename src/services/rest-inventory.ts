import { create } from "@bufbuild/protobuf";
import type { ServiceImpl } from "@connectrpc/connect";
import {
  type InventoryService,
  type ListInventoryRequest,
  ListInventoryResponseSchema,
} from "../../gen/petstore/v1/inventory_service_pb.ts";
import type { InventoryItem } from "../domain/inventory.ts";
import { listQueryOf } from "../domain/page.ts";
import type { PetStore } from "../domain/store.ts";
import { type Serialized, withSerialized } from "../rpc/serialized.ts";
import { inventoryListName, pageRequestFromMessage } from "./inventory.ts";
import type { InventoryBlocks } from "./inventory-blocks.ts";
import type { InventoryVersion } from "./inventory-version.ts";
import { serializeSelected } from "./selected-inventory.ts";

/** What the inventory for REST stands on. */
export interface RestInventoryOptions {
  /** Answers all but lists without a page size. */
  readonly service: ServiceImpl<typeof InventoryService>;
  readonly store: PetStore;
  readonly blocks: InventoryBlocks;
  readonly version: InventoryVersion;
  /** The JSON of one entry. */
  readonly write: (item: InventoryItem) => string;
}

/**
 * The RPCs of the inventory as REST has them: lists carry an `ETag`, and those without a page size are sent as JSON that
 * is kept ready, or made on the way, so that no number of entries is ever held as messages.
 */
export function restInventoryService(options: RestInventoryOptions): ServiceImpl<typeof InventoryService> {
  const { service, store, blocks, version, write } = options;

  function serialize(request: ListInventoryRequest): Promise<Serialized> {
    const { statuses, after } = listQueryOf(inventoryListName, pageRequestFromMessage(request));
    if (statuses.length === 0 && after === undefined) {
      return blocks.list();
    }
    return serializeSelected({
      read: (id, limit) => store.listInventory({ statuses, after: id, limit }),
      write,
      after,
    });
  }

  return {
    ...service,
    async listInventory(request, context) {
      // The tag is older than what is read, never newer: so no change can hide behind it.
      const { etag } = version;
      const response =
        request.pageSize === undefined
          ? withSerialized(create(ListInventoryResponseSchema), await serialize(request))
          : await service.listInventory(request, context);
      context.responseHeader.set("etag", etag);
      return response;
    },
  };
}
