import { create } from "@bufbuild/protobuf";
import type { ServiceImpl } from "@connectrpc/connect";
import { type InventoryService, ListInventoryResponseSchema } from "../../gen/petstore/v1/inventory_service_pb.ts";
import { withSerialized } from "../rpc/serialized.ts";
import type { InventoryBlocks } from "./inventory-blocks.ts";
import type { InventoryVersion } from "./inventory-version.ts";

/** The RPCs of the inventory as REST has them: lists carry an `ETag`, and the whole list is sent as it is kept. */
export function restInventoryService(
  service: ServiceImpl<typeof InventoryService>,
  blocks: InventoryBlocks,
  version: InventoryVersion,
): ServiceImpl<typeof InventoryService> {
  return {
    ...service,
    async listInventory(request, context) {
      // The tag is older than what is read, never newer: so no change can hide behind it.
      const { etag } = version;
      const isWhole = request.pageSize === undefined && request.pageToken === "" && request.status.length === 0;
      const response = isWhole
        ? withSerialized(create(ListInventoryResponseSchema), await blocks.list())
        : await service.listInventory(request, context);
      context.responseHeader.set("etag", etag);
      return response;
    },
  };
}
