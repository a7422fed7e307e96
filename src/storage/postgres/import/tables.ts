import type { RecordChange } from "../../../domain/import.ts";
import type { Order } from "../../../domain/order.ts";
import type { StockedPet } from "../../../domain/pet.ts";
import type { CopiedValue } from "./copy.ts";

/** The table of one kind of records, for imports. */
export interface ImportTable<Item> {
  readonly table: "pets" | "orders";
  /** All columns of the table but the id, with their types. None of them is ever null in the store. */
  readonly columns: ColumnTypes;
  /** What the records have besides, and other tables keep. */
  readonly otherColumns: ColumnTypes;
  /** The values of all these columns, in their order; null for a field that the record does not change. */
  readonly toValues: (item: Item) => CopiedValue[];
}

type ColumnTypes = Readonly<Record<string, "text" | "text[]" | "bigint" | "boolean">>;

/** How pets are imported. Their stock goes into a table of its own: see `mergeStock`. */
export const petImport: ImportTable<RecordChange<StockedPet>> = {
  table: "pets",
  columns: { name: "text", category: "text", photo_urls: "text[]", tags: "text[]" },
  otherColumns: { status: "text", quantity: "bigint" },
  toValues: ({ name, category, photoUrls, tags, status, quantity }) => [
    name ?? null,
    category ?? null,
    photoUrls ?? null,
    tags ?? null,
    status ?? null,
    quantity ?? null,
  ],
};

/** How orders are imported. */
export const orderImport: ImportTable<RecordChange<Order>> = {
  table: "orders",
  columns: { pet_id: "bigint", quantity: "bigint", ship_date_ms: "bigint", status: "text", complete: "boolean" },
  otherColumns: {},
  toValues: ({ petId, quantity, shipDateMs, status, complete }) => [
    petId ?? null,
    quantity ?? null,
    shipDateMs === undefined ? null : BigInt(shipDateMs),
    status ?? null,
    complete ?? null,
  ],
};
