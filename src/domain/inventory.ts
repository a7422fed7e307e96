import type { PetStatus } from "./pet.ts";

/** The current stock entry of one pet. */
export interface InventoryItem {
  readonly petId: bigint;
  /** Any int64, negative ones included: the specification sets no bound. */
  readonly quantity: bigint;
  readonly status: PetStatus;
}
