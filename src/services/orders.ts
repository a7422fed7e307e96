import { create } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import {
  type ListOrdersResponse,
  ListOrdersResponseSchema,
  type StoreService,
} from "../../gen/petstore/v1/store_service_pb.ts";
import type { Order, OrderStatus } from "../domain/order.ts";
import type { OrderStore } from "../domain/pet-store.ts";
import type { UnaryServiceImpl } from "../rpc/endpoint.ts";
import { orderStatusFromMessage, orderStatusMessages } from "./enum-maps.ts";
import { answerList, type MessageList } from "./list.ts";

/** The RPCs of the store's orders. */
export function storeService(store: OrderStore): UnaryServiceImpl<typeof StoreService> {
  const orders: MessageList<Order, OrderStatus, ListOrdersResponse> = {
    name: "orders",
    read: store.listOrders.bind(store),
    idOf: ({ id }) => id,
    toMessage: (items, nextPageToken) =>
      create(ListOrdersResponseSchema, { orders: items.map(orderToMessage), nextPageToken }),
  };
  return {
    listOrders: ({ pageSize, pageToken, status }) =>
      answerList(orders, {
        pageSize,
        pageToken: pageToken || undefined,
        statuses: status.map(orderStatusFromMessage),
      }),
  };
}

function orderToMessage({ shipDateMs, status, ...order }: Order) {
  return { ...order, shipDate: timestampFromMs(shipDateMs), status: orderStatusMessages[status] };
}
