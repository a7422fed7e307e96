import type { Order } from "./order.ts";
import type { StockedPet } from "./pet.ts";

/** What is imported of a record: all of it, or its id and the fields that are to change in the one that exists. */
export type RecordChange<Item extends { readonly id: bigint }> = Pick<Item, "id"> & Partial<Item>;

/** What to put into the store. The pets are read to their end before the first order is asked for. */
export interface Imports {
  readonly pets?: Records<StockedPet>;
  readonly orders?: Records<Order>;
}

type Records<Item extends { readonly id: bigint }> =
  | Iterable<RecordChange<Item>>
  | AsyncIterable<RecordChange<Item>>
  | undefined;

/** What an import does to the store, or would do. */
export interface ImportResult {
  readonly pets: ImportCounts;
  readonly orders: ImportCounts;
  readonly strays: StrayOrders;
}

/** How many records an import has put in; each id counts once. */
export interface ImportCounts {
  /** Those that were not there before. */
  readonly created: number;
  /** Those that were there, and came with all of their fields. */
  readonly replaced: number;
  /** Those that were there, and of which only some fields came. */
  readonly changed: number;
}

/** The orders of an import whose pets are neither in the store nor in the import. */
export interface StrayOrders {
  readonly count: number;
  readonly petCount: number;
  /** Their pets, each once and by ascending id; the first few of them. */
  readonly petIds: readonly bigint[];
}

/** No more pets of stray orders are named. */
export const maxStrayPets = 5;

/** Some fields alone were given of a record that does not exist: the first such of an import. */
export class UnknownRecordError extends Error {
  override readonly name = "UnknownRecordError";
  readonly kind: "pets" | "orders";
  readonly id: bigint;

  constructor(kind: "pets" | "orders", id: bigint) {
    super(`there is no ${kind === "pets" ? "pet" : "order"} ${id}`);
    this.kind = kind;
    this.id = id;
  }
}
