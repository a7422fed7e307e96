import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import type { ServiceImpl } from "@connectrpc/connect";
import type { StoreService } from "../../gen/petstore/v1/store_service_pb.ts";
import type { Order } from "../domain/order.ts";
import { readPage } from "../domain/page.ts";
import type { OrderStore } from "../domain/store.ts";
import { orderStatusFromMessage, orderStatusToMessage } from "./order-status.ts";

/** The RPCs of the store's orders. */
export function storeService(store: OrderStore): ServiceImpl<typeof StoreService> {
  const orders = { name: "orders", read: store.listOrders.bind(store), idOf: (order: Order) => order.id };
  return {
    async listOrders({ pageSize, pageToken, status }) {
      const { items, nextPageToken = "" } = await readPage(orders, {
        pageSize,
        pageToken: pageToken || undefined,
        statuses: status.map(orderStatusFromMessage),
      });
      return { orders: items.map(orderToMessage), nextPageToken };
    },
  };
}

function orderToMessage({ shipDateMs, status, ...order }: Order) {
  return { ...order, shipDate: timestampFromMs(shipDateMs), status: orderStatusToMessage(status) };
}
