import { create } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import { HoldState as HoldStateMessage } from "../../gen/petstore/v1/hold_pb.ts";
import {
  type WatchStockChangesResponse,
  WatchStockChangesResponseSchema,
} from "../../gen/petstore/v1/inventory_service_pb.ts";
import { Plan as PlanMessage } from "../../gen/petstore/v1/key_limits_pb.ts";
import { OrderStatus as OrderStatusMessage } from "../../gen/petstore/v1/order_pb.ts";
import { PetStatus as PetStatusMessage } from "../../gen/petstore/v1/pet_status_pb.ts";
import { StockChangeKind } from "../../gen/petstore/v1/stock_change_pb.ts";
import type { InventoryItem, OrderStatus, PetStatus } from "../domain/catalog.ts";
import { type ChangeKind, issueCursor, type StockChange } from "../domain/history.ts";
import type { HoldState } from "../domain/hold.ts";
import type { Plan } from "../domain/key.ts";
import type { AnsweredChanges } from "../domain/page.ts";
import type { StockEntry } from "../domain/stock.ts";

/** The fields of the message that stands for an entry. */
export function inventoryItemToMessage({ petId, quantity, status }: InventoryItem) {
  return { petId, quantity, status: petStatusMessages[status] };
}

/** The fields of a response with one entry, and its version as a strong entity tag. Source: RFC 9110, 8.8.3 */
export function entryToMessage(entry: StockEntry) {
  return { item: inventoryItemToMessage(entry), etag: `"${entry.version}"` };
}

/** A change as clients see it. Its cursor has the lineage of the history. */
export function changeToMessage(change: StockChange, lineage: AnsweredChanges["lineage"]) {
  const { kind, occurredAtMs, ...same } = change;
  return {
    ...same,
    cursor: issueCursor(lineage, change.revision),
    kind: changeKindMessages[kind],
    occurredAt: timestampFromMs(occurredAtMs),
  };
}

/** A change as a stream carries it. */
export function changeToWatchResponse(change: StockChange, lineage: string): WatchStockChangesResponse {
  const cursor = issueCursor(lineage, change.revision);
  return create(WatchStockChangesResponseSchema, { change: changeToMessage(change, lineage), cursor });
}

/** The statuses of orders in messages. */
export const orderStatusMessages: Readonly<Record<OrderStatus, OrderStatusMessage>> = {
  placed: OrderStatusMessage.PLACED,
  approved: OrderStatusMessage.APPROVED,
  delivered: OrderStatusMessage.DELIVERED,
};

/** The statuses of pets in messages. */
export const petStatusMessages: Readonly<Record<PetStatus, PetStatusMessage>> = {
  available: PetStatusMessage.AVAILABLE,
  pending: PetStatusMessage.PENDING,
  sold: PetStatusMessage.SOLD,
};

/** The plans of keys in messages. */
export const planMessages: Readonly<Record<Plan, PlanMessage>> = {
  free: PlanMessage.FREE,
  pro: PlanMessage.PRO,
  business: PlanMessage.BUSINESS,
  enterprise: PlanMessage.ENTERPRISE,
};

/** The states of holds in messages. */
export const holdStateMessages: Readonly<Record<HoldState, HoldStateMessage>> = {
  held: HoldStateMessage.HELD,
  committed: HoldStateMessage.COMMITTED,
  released: HoldStateMessage.RELEASED,
  expired: HoldStateMessage.EXPIRED,
};

/** The kinds of changes in messages. */
const changeKindMessages: Readonly<Record<ChangeKind, StockChangeKind>> = {
  set: StockChangeKind.SET,
  adjust: StockChangeKind.ADJUST,
  import: StockChangeKind.IMPORT,
  hold: StockChangeKind.HOLD,
};

/** Converts the state of a hold in a request. Validation has checked that it is a known one. */
export const holdStateFromMessage = createReader(holdStateMessages);

/** Converts the status of an order in a request. Validation has checked that it is a known one. */
export const orderStatusFromMessage = createReader(orderStatusMessages);

/** Converts the status of a pet in a request. Validation has checked that it is a known one. */
export const petStatusFromMessage = createReader(petStatusMessages);

function createReader<Status extends string, Message extends number>(
  messages: Readonly<Record<Status, Message>>,
): (message: Message) => Status {
  const statuses = new Map(Object.entries(messages).map(([status, message]) => [message, status as Status]));
  return (message) => statuses.get(message) as Status;
}
