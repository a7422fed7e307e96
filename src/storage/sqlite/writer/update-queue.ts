import type { CommittedGroup } from "../../../domain/store-maintenance.ts";
import type { Failure, Outcome } from "./writes.ts";

/** The most updates that can wait: a power of two, and far more than arrive during one commit. */
const capacity = 4096;

const bytesPerUpdate = 2 * BigInt64Array.BYTES_PER_ELEMENT;

/** The indexes of the positions. A position counts all updates ever made, and wraps around at 32 bits. */
const putPosition = 0;
const takenPosition = 1;
/** 1 while the taking thread sleeps and has to be woken. */
const sleeping = 2;
const positionCount = 3;

/**
 * A queue of stock updates for the writing thread, in memory that both threads share. One thread puts, the other takes.
 * Sending them as messages would double the work of the serving thread for an update.
 */
export class UpdateQueue {
  /** The other thread makes its end of the queue from this. */
  readonly memory: SharedArrayBuffer;
  readonly #positions: Int32Array;
  readonly #values: BigInt64Array;

  constructor(memory = new SharedArrayBuffer((capacity + positionCount) * bytesPerUpdate)) {
    this.memory = memory;
    this.#values = new BigInt64Array(memory, 0, 2 * capacity);
    this.#positions = new Int32Array(memory, capacity * bytesPerUpdate, positionCount);
  }

  /** Appends an update. False when the queue is full. */
  put(petId: bigint, quantity: bigint): boolean {
    const position = Atomics.load(this.#positions, putPosition);
    if (((position - Atomics.load(this.#positions, takenPosition)) | 0) === capacity) {
      return false;
    }
    const place = 2 * (position & (capacity - 1));
    this.#values[place] = petId;
    this.#values[place + 1] = quantity;
    Atomics.store(this.#positions, putPosition, position + 1);
    return true;
  }

  /** Takes all waiting updates: pet id and quantity in turn. */
  take(): BigInt64Array {
    const start = Atomics.load(this.#positions, takenPosition);
    const end = Atomics.load(this.#positions, putPosition);
    const updates = new BigInt64Array(2 * ((end - start) | 0));
    for (let index = 0; index < updates.length; index++) {
      updates[index] = this.#values[(2 * start + index) & (2 * capacity - 1)] as bigint;
    }
    Atomics.store(this.#positions, takenPosition, end);
    return updates;
  }

  /** Announces that the taking thread goes to sleep. False when updates wait. */
  sleep(): boolean {
    Atomics.store(this.#positions, sleeping, 1);
    const isEmpty = Atomics.load(this.#positions, putPosition) === Atomics.load(this.#positions, takenPosition);
    return isEmpty || Atomics.exchange(this.#positions, sleeping, 0) === 0;
  }

  /** Whether the taking thread sleeps. The caller that gets true has to wake it. */
  mustWake(): boolean {
    return Atomics.load(this.#positions, sleeping) === 1 && Atomics.exchange(this.#positions, sleeping, 0) === 1;
  }
}

/** The result of a group of tasks, as the writing thread tells it. */
export type GroupOutcome = CommittedTasks | FailedGroup;

/** `size` counts the updates and writes of the group: only they change anything. */
export interface CommittedTasks extends CommittedGroup {
  readonly tasks: readonly Outcome[];
  readonly revision: bigint;
  readonly changedPets: readonly bigint[];
}

/** Nothing of the group has been done. */
interface FailedGroup {
  readonly failure: Failure;
  readonly taskCount: number;
}
