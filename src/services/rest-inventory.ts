import { create } from "@bufbuild/protobuf";
import type { ServiceImpl } from "@connectrpc/connect";
import {
  type InventoryService,
  type ListInventoryRequest,
  ListInventoryResponseSchema,
} from "../../gen/petstore/v1/inventory_service_pb.ts";
import { withSerialized } from "../rpc/serialized.ts";
import type { InventoryBlocks } from "./inventory-blocks.ts";
import type { InventoryVersion } from "./inventory-version.ts";

/** What the inventory for REST stands on. */
export interface RestInventoryOptions {
  /** Answers all but the whole list. */
  readonly service: ServiceImpl<typeof InventoryService>;
  readonly blocks: InventoryBlocks;
  readonly version: InventoryVersion;
}

/**
 * The RPCs of the inventory as REST has them: lists carry an `ETag`, and the whole list is sent as JSON that is kept
 * ready.
 */
export function restInventoryService(options: RestInventoryOptions): ServiceImpl<typeof InventoryService> {
  const { service, blocks, version } = options;
  return {
    ...service,
    async listInventory(request, context) {
      // The tag is older than what is read, never newer: so no change can hide behind it.
      const { etag } = version;
      const response = isWhole(request)
        ? withSerialized(create(ListInventoryResponseSchema), await blocks.list())
        : await service.listInventory(request, context);
      context.responseHeader.set("etag", etag);
      return response;
    },
  };
}

function isWhole({ pageSize, pageToken, status }: ListInventoryRequest): boolean {
  return pageSize === undefined && pageToken === "" && status.length === 0;
}
