import { type Order, orderStatuses, petStatuses, type StockedPet } from "../domain/pet.ts";
import { int64, oneOf, text, textList, timestamp, truth } from "./field.ts";
import type { RecordFormat } from "./record-format.ts";

/** Pets with their stock: `id,name,category,photoUrls,tags,status,quantity`. */
export const petRecord: RecordFormat<StockedPet> = {
  singular: "pet",
  plural: "pets",
  fields: [
    { name: "id", property: "id", format: int64 },
    { name: "name", property: "name", format: text },
    { name: "category", property: "category", format: text },
    { name: "photoUrls", property: "photoUrls", format: textList },
    { name: "tags", property: "tags", format: textList },
    { name: "status", property: "status", format: oneOf(petStatuses) },
    { name: "quantity", property: "quantity", format: int64 },
  ],
};

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
