import { OrderStatus as OrderStatusMessage } from "../../gen/petstore/v1/order_pb.ts";
import type { OrderStatus } from "../domain/order.ts";

const messages = {
  placed: OrderStatusMessage.PLACED,
  approved: OrderStatusMessage.APPROVED,
  delivered: OrderStatusMessage.DELIVERED,
} as const satisfies Record<OrderStatus, OrderStatusMessage>;

const statuses = new Map<OrderStatusMessage, OrderStatus>(
  Object.entries(messages).map(([status, message]) => [message, status as OrderStatus]),
);

export function orderStatusToMessage(status: OrderStatus): OrderStatusMessage {
  return messages[status];
}

/** The message's rules have seen to it that there is such a status. */
export function orderStatusFromMessage(message: OrderStatusMessage): OrderStatus {
  return statuses.get(message) as OrderStatus;
}
