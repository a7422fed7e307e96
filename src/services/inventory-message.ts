import { toEtag } from "../domain/etag.ts";
import type { InventoryItem } from "../domain/pet.ts";
import type { StockEntry } from "../domain/stock.ts";
import { petStatusMessages } from "./enum-maps.ts";

/** The fields of the message that stands for an entry. */
export function inventoryItemToMessage({ petId, quantity, status }: InventoryItem) {
  return { petId, quantity, status: petStatusMessages[status] };
}

/** The fields of a response with one entry and its version. */
export function entryToMessage(entry: StockEntry) {
  return { item: inventoryItemToMessage(entry), etag: toEtag(entry.version) };
}
