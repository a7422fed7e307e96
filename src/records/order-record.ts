import { type Order, orderStatuses } from "../domain/order.ts";
import { int64, oneOf, timestamp, truth } from "./field.ts";
import type { RecordFormat } from "./record-format.ts";

/** Orders: `id,petId,quantity,shipDate,status,complete`. */
export const orderRecord: RecordFormat<Order> = {
  singular: "order",
  plural: "orders",
  fields: [
    { name: "id", property: "id", format: int64 },
    { name: "petId", property: "petId", format: int64 },
    { name: "quantity", property: "quantity", format: int64 },
    { name: "shipDate", property: "shipDateMs", format: timestamp },
    { name: "status", property: "status", format: oneOf(orderStatuses) },
    { name: "complete", property: "complete", format: truth },
  ],
};
