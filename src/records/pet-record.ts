import { petStatuses, type StockedPet } from "../domain/pet.ts";
import { int64, oneOf, text, textList } from "./field.ts";
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
