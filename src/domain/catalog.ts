/** The statuses that a pet can have. Source: docs/contract.md#operations */
export const petStatuses = ["available", "pending", "sold"] as const;

export type PetStatus = (typeof petStatuses)[number];

/** One pet of the store. */
export interface Pet {
  readonly id: bigint;
  readonly name: string;
  readonly category: string;
  readonly photoUrls: readonly string[];
  readonly tags: readonly string[];
  readonly status: PetStatus;
}

/** A pet with its stock count: what is imported and exported. */
export interface StockedPet extends Pet {
  /** Any int64. */
  readonly quantity: bigint;
}

/** The current stock entry of one pet. */
export interface InventoryItem {
  readonly petId: bigint;
  /** Any int64, negative ones included. Source: docs/contract.md#operations */
  readonly quantity: bigint;
  readonly status: PetStatus;
}

/** The statuses that an order can have. */
export const orderStatuses = ["placed", "approved", "delivered"] as const;

export type OrderStatus = (typeof orderStatuses)[number];

/** One order for a pet. */
export interface Order {
  readonly id: bigint;
  readonly petId: bigint;
  readonly quantity: bigint;
  /** Milliseconds since the Unix epoch. */
  readonly shipDateMs: number;
  readonly status: OrderStatus;
  readonly complete: boolean;
}

/** A record to import: a whole one, or its id and the fields that change in the existing one. */
export type RecordChange<Item extends { readonly id: bigint }> = Pick<Item, "id"> & Partial<Item>;

/** What to import. All pets are read before the first order. */
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

/** The number of imported records; each id counts once. */
export interface ImportCounts {
  /** Records that did not exist before. */
  readonly created: number;
  /** Existing records that came with all of their fields. */
  readonly replaced: number;
  /** Existing records that came with only some of their fields. */
  readonly changed: number;
}

/** Whether an import changes anything. */
export function hasChanges({ pets, orders }: ImportResult): boolean {
  return [pets, orders].some(({ created, replaced, changed }) => created + replaced + changed > 0);
}

/** The orders of an import whose pets are neither in the store nor in the import. */
export interface StrayOrders {
  readonly count: number;
  readonly petCount: number;
  /** The ids of these pets: each once, ascending, and at most the first `maxStrayPets`. */
  readonly petIds: readonly bigint[];
}

/** How many pets of stray orders are named at most. */
export const maxStrayPets = 5;

/** An import has only some fields of a record that does not exist. It names the first such record. */
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
