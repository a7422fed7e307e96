import type { Connection } from "../connection.ts";
import { type UnappliedChanges, unappliedOf } from "../unapplied-changes.ts";

/**
 * From so many unapplied changes on, each group applies some. The more there are, the more of them share a page of
 * `stock`; but whoever reads for the first time reads all of them.
 */
const mostUnapplied = 2_048;

/** A group applies at least so many pets' changes, and twice as many as it makes: so it gets ahead of them. */
const leastApplied = 32;

/** How many are applied in one step while nobody writes: a millisecond or two. */
const appliedPerStep = 512;

/** One passage over the pets that have unapplied changes. */
interface Passage {
  readonly petIds: readonly bigint[];
  /** The newest change when it began. Once it has ended, all changes up to this one have been applied. */
  readonly upTo: bigint;
  next: number;
}

/** Applies changes to `stock`, some pets at a time, in the order of ids: neighbours share pages. */
export class StockApplier {
  readonly #connection: Connection;
  readonly #unapplied: UnappliedChanges;
  #passage: Passage | undefined;

  constructor(connection: Connection) {
    this.#connection = connection;
    this.#unapplied = unappliedOf(connection);
  }

  /** Applies some, if there are many. To be called in the transaction of a group that has made so many changes. */
  applyBeside(changes: number): void {
    if (this.#passage !== undefined || this.#unapplied.count >= mostUnapplied) {
      this.#apply(Math.max(leastApplied, 2 * changes));
    }
  }

  /** Applies some. False when there are no more. To be called in a transaction. */
  applyStep(): boolean {
    if (this.#unapplied.count === 0) {
      return false;
    }
    this.#apply(appliedPerStep);
    return true;
  }

  /** To be called where a transaction, or a part of one, was rolled back. */
  forget(): void {
    this.#passage = undefined;
    this.#unapplied.forget();
  }

  #apply(most: number): void {
    const passage = this.#passage ?? { petIds: this.#unapplied.petIds(), upTo: this.#unapplied.head, next: 0 };
    const end = passage.next + most;
    for (const petId of passage.petIds.slice(passage.next, end)) {
      this.#applyChanges(petId);
    }
    passage.next = end;
    if (end < passage.petIds.length) {
      this.#passage = passage;
    } else {
      this.#connection.run(`UPDATE history SET applied_revision = max(applied_revision, ?)`, passage.upTo);
      this.#unapplied.noteApplied(passage.upTo);
      this.#passage = undefined;
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
