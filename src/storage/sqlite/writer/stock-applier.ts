import type { Connection } from "../connection.ts";
import { type StockCache, stockCacheOf } from "../stock-cache.ts";

/**
 * From this many unapplied changes on, each group applies some. The more there are, the more of them share a pet, or at
 * least a page of `stock`. But each connection reads all of them at first, and keeps them in memory.
 */
const mostUnapplied = 98_304;

/**
 * A group applies the changes of at least this many pets, and of twice as many as it has changes. So the unapplied
 * changes get fewer.
 */
const leastApplied = 32;

/** One pass over the pets that have unapplied changes. */
interface Pass {
  readonly petIds: BigInt64Array;
  /** The newest change when the pass began. When the pass has ended, all changes up to this one have been applied. */
  readonly upTo: bigint;
  /** Those of the cache when the pass began. After a further one, the pets and the revision have no meaning. */
  readonly restarts: number;
  next: number;
  /** Whether some changes could not be applied, because their page is damaged. */
  hasFailed: boolean;
}

/** Applies changes to `stock`, some pets at a time, in the order of ids: neighbours share pages. */
export class StockApplier {
  readonly #connection: Connection;
  readonly #cache: StockCache;
  readonly #mostUnapplied: number;
  #lastPass: Pass | undefined;
  /**
   * The newest change at the end of the last pass that failed. The next pass begins the usual number of changes later.
   */
  #failedAt = 0n;

  /** A group applies changes from `most` unapplied ones on. */
  constructor(connection: Connection, most = mostUnapplied) {
    this.#connection = connection;
    this.#cache = stockCacheOf(connection);
    this.#mostUnapplied = most;
  }

  /**
   * Applies some changes, if there are many. To be called at the end of a group's transaction, with the group's number
   * of changes.
   */
  applyInGroup(changes: number): void {
    if (changes > 0 && (this.#pass !== undefined || this.#isDue(this.#mostUnapplied))) {
      this.apply(Math.max(leastApplied, 2 * changes));
    }
  }

  /** Whether there are changes to apply. To be called in a transaction. */
  get hasMore(): boolean {
    return this.#pass !== undefined || this.#isDue(1);
  }

  /** Applies the changes of so many pets at most. To be called in a transaction. */
  apply(most: number): void {
    const pass = this.#pass ?? this.#begin();
    const petIds = pass.petIds.subarray(pass.next, pass.next + most);
    pass.next += most;
    if (!this.#tryToApply(petIds)) {
      pass.hasFailed = true;
    }
    if (pass.next >= pass.petIds.length) {
      this.#end(pass);
    }
  }

  /** To be called after the rollback of a transaction that had applied changes. */
  startAnew(): void {
    this.#lastPass = undefined;
  }

  /** The pass that has not ended. */
  get #pass(): Pass | undefined {
    return this.#lastPass?.restarts === this.#cache.restarts ? this.#lastPass : undefined;
  }

  #isDue(most: number): boolean {
    return this.#cache.unapplied >= most && this.#cache.head - this.#failedAt >= most;
  }

  #begin(): Pass {
    const { head, restarts } = this.#cache;
    const pass = { petIds: this.#cache.unappliedPetIds(), upTo: head, restarts, next: 0, hasFailed: false };
    this.#lastPass = pass;
    return pass;
  }

  #end({ upTo, hasFailed }: Pass): void {
    this.#lastPass = undefined;
    if (hasFailed) {
      this.#failedAt = this.#cache.head;
      return;
    }
    // An import may have gone further meanwhile.
    this.#connection.run(`UPDATE history SET applied_revision = max(applied_revision, ?)`, upTo);
    this.#cache.noteApplied(upTo);
  }

  /**
   * Returns false where a page of `stock` is damaged. The group is committed all the same: its changes are in the
   * history.
   */
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
    const change = this.#cache.findChange(petId);
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
