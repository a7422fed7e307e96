import { type PetStatus, petStatuses } from "../../../domain/pet.ts";
import type { CommittedGroup } from "../../../domain/store-maintenance.ts";
import type { Failure, Outcome } from "./writes.ts";

/** The result of a group of tasks, as the writing thread tells it. */
export type GroupOutcome = CommittedTasks | FailedGroup;

/** `size` counts the updates and writes of the group: only they change anything. */
export interface CommittedTasks extends CommittedGroup {
  /** For each update the pet's status, by its place in `petStatuses`. */
  readonly updates: Int8Array;
  /** Why the last failed update has failed; undefined when none has. */
  readonly updateFailure: Failure | undefined;
  readonly tasks: readonly Outcome[];
}

/** Nothing of the group has been done. */
interface FailedGroup {
  readonly failure: Failure;
  readonly updateCount: number;
  readonly taskCount: number;
}

/** In place of a status: no pet has this id. */
const noPet = -1;

/** In place of a status: this update alone has failed, as on a damaged page. */
export const failedUpdate = -2;

export function statusToCode(status: PetStatus | undefined): number {
  return status === undefined ? noPet : petStatuses.indexOf(status);
}

export function statusFromCode(code: number | undefined): PetStatus | undefined {
  return petStatuses[code ?? noPet];
}
