import { storeUnavailable } from "../../domain/errors.ts";
import type { PetStatus } from "../../domain/pet.ts";
import { type Group, type GroupOutcome, statusFromCode } from "./group.ts";
import type { Failure, Outcome, Write } from "./writes.ts";

interface UpdateJob {
  readonly petId: bigint;
  readonly quantity: bigint;
  readonly resolve: (status: PetStatus | undefined) => void;
  readonly reject: (reason: unknown) => void;
}

interface WriteJob {
  readonly write: Write;
  readonly resolve: (value: unknown) => void;
  readonly reject: (reason: unknown) => void;
}

/** The writes of one group, and who waits for them. */
export class Jobs {
  readonly updates: UpdateJob[] = [];
  readonly writes: WriteJob[] = [];

  get isEmpty(): boolean {
    return this.updates.length === 0 && this.writes.length === 0;
  }

  toGroup(): Group {
    const updates = new BigInt64Array(2 * this.updates.length);
    for (const [index, { petId, quantity }] of this.updates.entries()) {
      updates[2 * index] = petId;
      updates[2 * index + 1] = quantity;
    }
    return { updates, writes: this.writes.map(({ write }) => write) };
  }

  /** Tells each what has become of its write. */
  settle(outcome: GroupOutcome): void {
    for (const [index, { resolve }] of this.updates.entries()) {
      resolve(statusFromCode(outcome.updates[index]));
    }
    for (const [index, job] of this.writes.entries()) {
      settleWrite(job, outcome.writes[index] as Outcome);
    }
  }

  /** Tells all that nothing has been done. */
  fail(reason: unknown): void {
    for (const { reject } of [...this.updates, ...this.writes]) {
      reject(reason);
    }
  }
}

function settleWrite({ resolve, reject }: WriteJob, outcome: Outcome): void {
  if ("value" in outcome) {
    resolve(outcome.value);
  } else {
    reject(failureToError(outcome));
  }
}

/** The error that a failure on the writing thread means. */
export function failureToError({ error, isMediumFailure }: Failure): Error {
  return isMediumFailure ? storeUnavailable(error) : error;
}
