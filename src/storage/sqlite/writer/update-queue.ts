/** How many updates can wait at a time: a power of two, far more than arrive while a group is committed. */
const capacity = 4096;

const bytesPerUpdate = 2 * BigInt64Array.BYTES_PER_ELEMENT;

/** Where the positions stand. They count all updates there ever were, and wrap around with 32 bits. */
const putPosition = 0;
const takenPosition = 1;
/** 1 while the thread that takes sleeps, and must be woken. */
const sleeping = 2;
const positionCount = 3;

/**
 * The stock updates on their way to the writing thread, in memory that both threads share: to send them as messages
 * would cost the serving thread as much as all else that it does for an update. One thread puts, the other one takes.
 */
export class UpdateQueue {
  /** What the other thread is given, to make its end of the queue of. */
  readonly memory: SharedArrayBuffer;
  readonly #positions: Int32Array;
  readonly #values: BigInt64Array;

  constructor(memory = new SharedArrayBuffer((capacity + positionCount) * bytesPerUpdate)) {
    this.memory = memory;
    this.#values = new BigInt64Array(memory, 0, 2 * capacity);
    this.#positions = new Int32Array(memory, capacity * bytesPerUpdate, positionCount);
  }

  /** Puts an update behind all others; false when there is no room. */
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

  /** Takes all updates that there are: pet id and quantity in turn. */
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

  /** Says that the thread that takes goes to sleep; false when there is something to take. */
  sleep(): boolean {
    Atomics.store(this.#positions, sleeping, 1);
    const isEmpty = Atomics.load(this.#positions, putPosition) === Atomics.load(this.#positions, takenPosition);
    return isEmpty || Atomics.exchange(this.#positions, sleeping, 0) === 0;
  }

  /** Whether the thread that takes sleeps, and is to be woken by whoever is told so. */
  mustWake(): boolean {
    return Atomics.load(this.#positions, sleeping) === 1 && Atomics.exchange(this.#positions, sleeping, 0) === 1;
  }
}
