import { create } from "@bufbuild/protobuf";
import {
  type InventoryService,
  type ListInventoryRequest,
  ListInventoryResponseSchema,
} from "../../gen/petstore/v1/inventory_service_pb.ts";
import type { UnaryServiceImpl } from "../rpc/endpoint.ts";
import { PreparedMessage } from "../rpc/prepared-message.ts";
import type { InventoryListCache } from "./inventory-list-cache.ts";

/** The RPCs of the inventory over REST: lists carry an `ETag`, and the whole list is sent as JSON from the cache. */
export function restInventoryService(
  service: UnaryServiceImpl<typeof InventoryService>,
  listCache: InventoryListCache,
): UnaryServiceImpl<typeof InventoryService> {
  return {
    ...service,
    async listInventory(request, context) {
      // The tag may be older than what is read, never newer, so that it hides no change.
      context.responseHeader.set("etag", listCache.etag);
      if (!isWhole(request)) {
        return await service.listInventory(request, context);
      }
      return new PreparedMessage({
        restBody: () => listCache.list(),
        async whole() {
          const response = await service.listInventory(request, context);
          return response instanceof PreparedMessage
            ? await response.whole()
            : create(ListInventoryResponseSchema, response);
        },
      });
    },
  };
}

function isWhole({ pageSize, pageToken, status }: ListInventoryRequest): boolean {
  return pageSize === undefined && pageToken === "" && status.length === 0;
}
