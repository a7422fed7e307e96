import { type PetStatus, petStatuses } from "../../domain/pet.ts";
import type { Outcome, Write } from "./writes.ts";

/**
 * What is committed together, as it is sent to the writing thread. Stock updates are most of it: they go as numbers in
 * a row, pet id and quantity in turn, which cross between threads at a tenth of the cost of objects.
 */
export interface Group {
  readonly updates: BigInt64Array;
  readonly writes: readonly Write[];
}

/** What has become of a group, as it is sent back: of each update the pet's status, by its place in `petStatuses`. */
export interface GroupOutcome {
  readonly updates: Int8Array;
  readonly writes: readonly Outcome[];
}

/** In the place of a status: there is no such pet. */
const noPet = -1;

export function statusToCode(status: PetStatus | undefined): number {
  return status === undefined ? noPet : petStatuses.indexOf(status);
}

export function statusFromCode(code: number | undefined): PetStatus | undefined {
  return petStatuses[code ?? noPet];
}
