import { Plan as PlanMessage } from "../../gen/petstore/v1/key_limits_pb.ts";
import { OrderStatus as OrderStatusMessage } from "../../gen/petstore/v1/order_pb.ts";
import { PetStatus as PetStatusMessage } from "../../gen/petstore/v1/pet_status_pb.ts";
import type { Plan } from "../domain/key.ts";
import type { OrderStatus } from "../domain/order.ts";
import type { PetStatus } from "../domain/pet.ts";

/** Converts between the statuses of the domain and those of messages. */
interface StatusMap<Status extends string, Message extends number> {
  readonly toMessage: (status: Status) => Message;
  /** Validation has made sure that the status is known. */
  readonly fromMessage: (message: Message) => Status;
}

function createStatusMap<Status extends string, Message extends number>(
  messages: Readonly<Record<Status, Message>>,
): StatusMap<Status, Message> {
  const statuses = new Map(Object.entries(messages).map(([status, message]) => [message, status as Status]));
  return {
    toMessage: (status) => messages[status],
    fromMessage: (message) => statuses.get(message) as Status,
  };
}

/** Convert the status of an order. */
export const { toMessage: orderStatusToMessage, fromMessage: orderStatusFromMessage } = createStatusMap<
  OrderStatus,
  OrderStatusMessage
>({
  placed: OrderStatusMessage.PLACED,
  approved: OrderStatusMessage.APPROVED,
  delivered: OrderStatusMessage.DELIVERED,
});

/** Convert the status of a pet. */
export const { toMessage: petStatusToMessage, fromMessage: petStatusFromMessage } = createStatusMap<
  PetStatus,
  PetStatusMessage
>({
  available: PetStatusMessage.AVAILABLE,
  pending: PetStatusMessage.PENDING,
  sold: PetStatusMessage.SOLD,
});

/** Converts the plan of a key. */
export function planToMessage(plan: Plan): PlanMessage {
  return plans[plan];
}

const plans: Readonly<Record<Plan, PlanMessage>> = {
  free: PlanMessage.FREE,
  pro: PlanMessage.PRO,
  business: PlanMessage.BUSINESS,
  enterprise: PlanMessage.ENTERPRISE,
};
