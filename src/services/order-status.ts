import { OrderStatus as OrderStatusMessage } from "../../gen/petstore/v1/order_pb.ts";
import type { OrderStatus } from "../domain/order.ts";
import { createStatusMap } from "./status-map.ts";

/** From the status of an order to that of its messages, and back. */
export const { toMessage: orderStatusToMessage, fromMessage: orderStatusFromMessage } = createStatusMap<
  OrderStatus,
  OrderStatusMessage
>({
  placed: OrderStatusMessage.PLACED,
  approved: OrderStatusMessage.APPROVED,
  delivered: OrderStatusMessage.DELIVERED,
});
