import type { Connection } from "../connection.ts";
import { type UnappliedChanges, unappliedOf } from "../unapplied-changes.ts";

/**
 * From so many unapplied changes on, each group applies some. The more there are, the more of them share a page of
 * `stock`; but each connection keeps all of them, and reads all of them the first time.
 */
const mostUnapplied = 16_384;

/** A group applies at least so many pets' changes, and twice as many as it makes: so it gets ahead of them. */
const leastApplied = 32;

/** How many are applied in one step while nobody writes: a millisecond or two. */
const appliedPerStep = 512;

/** One passage over the pets that have unapplied changes. */
interface Passage {
  readonly petIds: BigInt64Array;
  /** The newest change when it began. Once it has ended, all changes up to this one have been applied. */
  readonly upTo: bigint;
  next: number;
  /** Whether some could not be applied, because their page is damaged. */
  hasFailed: boolean;
}

/** Applies changes to `stock`, some pets at a time, in the order of ids: neighbours share pages. */
export class StockApplier {
  readonly #connection: Connection;
  readonly #unapplied: UnappliedChanges;
  #passage: Passage | undefined;
  /** The newest change when a passage failed last. The next one begins as many changes later as ever. */
  #failedAt = 0n;

  constructor(connection: Connection) {
    this.#connection = connection;
    this.#unapplied = unappliedOf(connection);
  }

  /** Applies some, if there are many. To be called in the transaction of a group, last, with its number of changes. */
  applyBeside(changes: number): void {
    if (changes > 0 && (this.#passage !== undefined || this.#isDue(mostUnapplied))) {
      this.#apply(Math.max(leastApplied, 2 * changes));
    }
  }

  /** Whether there are changes to apply. To be called in a transaction. */
  get hasMore(): boolean {
    return this.#passage !== undefined || this.#isDue(1);
  }

  /** Applies some. To be called in a transaction. */
  applyStep(): void {
    this.#apply(appliedPerStep);
  }

  /** To be called where a transaction was rolled back that has applied some. */
  startAnew(): void {
    this.#passage = undefined;
  }

  #isDue(most: number): boolean {
    return this.#unapplied.count >= most && this.#unapplied.head - this.#failedAt >= most;
  }

  #apply(most: number): void {
    const passage = this.#passage ?? this.#begin();
    const petIds = passage.petIds.subarray(passage.next, passage.next + most);
    passage.next += most;
    if (!this.#tryToApply(petIds)) {
      passage.hasFailed = true;
    }
    if (passage.next >= passage.petIds.length) {
      this.#end(passage);
    }
  }

  #begin(): Passage {
    this.#passage = { petIds: this.#unapplied.petIds(), upTo: this.#unapplied.head, next: 0, hasFailed: false };
    return this.#passage;
  }

  #end({ upTo, hasFailed }: Passage): void {
    this.#passage = undefined;
    if (hasFailed) {
      this.#failedAt = this.#unapplied.head;
      return;
    }
    // An import may have gone further meanwhile.
    this.#connection.run(`UPDATE history SET applied_revision = max(applied_revision, ?)`, upTo);
    this.#unapplied.noteApplied(upTo);
  }

  /** A damaged page of `stock` is no reason to refuse a group, whose changes are in the history. */
  #tryToApply(petIds: BigInt64Array): boolean {
    try {
      this.#connection.atomically(() => {
        for (const petId of petIds) {
          this.#applyChanges(petId);
        }
      });
      return true;
    } catch (error) {
      if (!this.#connection.inTransaction) {
        throw error;
      }
      return false;
    }
  }

  #applyChanges(petId: bigint): void {
    const change = this.#unapplied.find(petId);
    // Another process may have applied it meanwhile.
    if (change !== undefined) {
      const { quantity, revision, changes } = change;
      this.#connection.run(
        `UPDATE stock SET quantity = ?, revision = ?, changes = ? WHERE pet_id = ?`,
        quantity,
        revision,
        changes,
        petId,
      );
    }
  }
}
