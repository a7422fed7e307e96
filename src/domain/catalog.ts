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
