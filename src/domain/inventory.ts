import type { PetStatus } from "./pet.ts";

/** The current stock entry of one pet. */
export interface InventoryItem {
  readonly petId: bigint;
  /** Any int64, negative ones included. Source: docs/contract.md#operations */
  readonly quantity: bigint;
  readonly status: PetStatus;
}
