import { type PetStatus, petStatuses } from "../../domain/pet.ts";
import type { Failure, Outcome } from "./writes.ts";

/** What has become of what was committed together, as the writing thread tells it. */
export type GroupOutcome = CommittedGroup | FailedGroup;

export interface CommittedGroup {
  /** Of each update the pet's status, by its place in `petStatuses`. */
  readonly updates: Int8Array;
  /** Why the last of those has failed that have failed by themselves; undefined when there is none. */
  readonly updateFailure: Failure | undefined;
  readonly writes: readonly Outcome[];
  /** How many updates and writes it held; to ask for the `externalChangeToken` changes nothing, and is not counted. */
  readonly size: number;
  /** How long the commit itself took, the sync included, in milliseconds. */
  readonly syncMs: number;
}

/** Nothing of it has been done. */
interface FailedGroup {
  readonly failure: Failure;
  readonly updateCount: number;
  readonly writeCount: number;
}

/** In the place of a status: there is no such pet. */
const noPet = -1;

/** In the place of a status: the update has failed by itself, as on a damaged page. */
export const failedUpdate = -2;

export function statusToCode(status: PetStatus | undefined): number {
  return status === undefined ? noPet : petStatuses.indexOf(status);
}

export function statusFromCode(code: number | undefined): PetStatus | undefined {
  return petStatuses[code ?? noPet];
}
