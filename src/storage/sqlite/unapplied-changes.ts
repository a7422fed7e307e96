import { greaterOf } from "../../domain/ranges.ts";
import type { Connection } from "./connection.ts";
import { headOf } from "./history-bounds.ts";

/*
 * A commit appends its changes to the history. It leaves quantity, revision and number of changes in `stock` as they
 * are: the rows of a group's pets are on different pages, and each page would be written for a few bytes. The writer
 * thread applies the changes of many groups to `stock` together, in the order of ids. All changes up to
 * `history.applied_revision` have been applied, and maybe some later ones. So a pet's stock is its row in `stock`, or
 * its last change after this revision, whichever is newer. `held` and `status` are written at once.
 *
 * In SQL the view `current_stock` has the same stock. It reads all unapplied changes, so it is for queries of many
 * rows.
 */

/** A pet's stock after its last change. */
export interface ChangedStock {
  readonly quantity: bigint;
  readonly revision: bigint;
  /** How many changes there have been. */
  readonly changes: bigint;
}

interface NotedChange {
  readonly petId: bigint;
  readonly former: ChangedStock | undefined;
}

interface Position {
  readonly applied: bigint;
  readonly head: bigint;
}

interface ChangedRow extends ChangedStock {
  readonly pet_id: bigint;
}

/** The changes that `stock` may lack, as one connection sees them in its present transaction. */
export class UnappliedChanges {
  readonly #connection: Connection;
  readonly #byPet = new Map<bigint, ChangedStock>();
  /** The changes of this transaction, with the entries that they replaced. */
  readonly #noted: NotedChange[] = [];
  #isCurrent = false;
  #applied = 0n;
  #head = 0n;

  constructor(connection: Connection) {
    this.#connection = connection;
  }

  /** The revision of the newest change; 0 before the first one. */
  get head(): bigint {
    this.#catchUp();
    return this.#head;
  }

  /** How many changes `stock` may lack. */
  get count(): number {
    this.#catchUp();
    return Number(this.#head - this.#applied);
  }

  /** The last change of a pet after the applied revision, if there is one. The row may have it already. */
  find(petId: bigint): ChangedStock | undefined {
    this.#catchUp();
    return this.#byPet.get(petId);
  }

  /** The pets of these changes, by ascending id. */
  petIds(): BigInt64Array {
    this.#catchUp();
    return BigInt64Array.from(this.#byPet.keys()).sort();
  }

  /** The position to which `goBack` returns after a rollback. */
  get position(): Position {
    return { applied: this.#applied, head: this.#head };
  }

  /** To be called when a transaction begins: others may have committed since the last one. */
  expire(): void {
    this.#isCurrent = false;
    this.#noted.length = 0;
  }

  /** To be called after the rollback of a transaction or a savepoint, with the position at which it began. */
  goBack({ applied, head }: Position): void {
    while (this.#head > head && this.#noted.length > 0) {
      const { petId, former } = this.#noted.pop() as NotedChange;
      this.#head -= 1n;
      if (former === undefined) {
        this.#byPet.delete(petId);
      } else {
        this.#byPet.set(petId, former);
      }
    }
    if (this.#applied !== applied) {
      // The rollback has taken back applied changes, whose entries are missing here. They are read again.
      this.#byPet.clear();
      this.#applied = 0n;
      this.#head = 0n;
      this.#isCurrent = false;
    }
  }

  /**
   * Notes a change that this transaction has made, so that it need not be read. Changes come in the order of revisions.
   */
  note(petId: bigint, change: ChangedStock): void {
    this.#noted.push({ petId, former: this.#byPet.get(petId) });
    this.#byPet.set(petId, change);
    this.#head = change.revision;
  }

  /** Notes that this transaction has applied all changes up to a revision. */
  noteApplied(revision: bigint): void {
    if (revision <= this.#applied) {
      return;
    }
    this.#applied = revision;
    for (const [petId, change] of this.#byPet) {
      if (change.revision <= revision) {
        this.#byPet.delete(petId);
      }
    }
  }

  #catchUp(): void {
    if (this.#isCurrent) {
      return;
    }
    const { applied, head } = this.#connection.get<Position>(
      `SELECT applied_revision AS applied, (SELECT ifnull(max(revision), 0) FROM changes) AS head FROM history`,
    ) as Position;
    this.noteApplied(applied);
    if (head > this.#head) {
      this.#read(greaterOf(this.#head, applied));
      this.#head = head;
    }
    this.#isCurrent = true;
  }

  #read(after: bigint): void {
    const rows = this.#connection.all<ChangedRow>(
      `SELECT pet_id, after AS quantity, revision, number AS changes FROM changes WHERE revision > ? ORDER BY revision`,
      after,
    );
    for (const { pet_id: petId, quantity, revision, changes } of rows) {
      this.#byPet.set(petId, { quantity, revision, changes });
    }
  }
}

const byConnection = new WeakMap<Connection, UnappliedChanges>();

/** The unapplied changes as a connection sees them. Its transactions call `expire` when they begin. */
export function unappliedOf(connection: Connection): UnappliedChanges {
  let unapplied = byConnection.get(connection);
  if (unapplied === undefined) {
    unapplied = new UnappliedChanges(connection);
    byConnection.set(connection, unapplied);
  }
  return unapplied;
}

/** Applies all changes to `stock`. To be called in a transaction. */
export function applyAll(connection: Connection): void {
  connection.run(
    `UPDATE stock SET quantity = late.quantity, revision = late.revision, changes = late.changes
     FROM unapplied_stock AS late WHERE late.pet_id = stock.pet_id AND late.revision > stock.revision`,
  );
  markApplied(connection);
}

/**
 * Marks all changes as applied. It is for a writer that has written them to `stock` itself. To be called in a
 * transaction.
 */
export function markApplied(connection: Connection): void {
  const head = headOf(connection);
  connection.run(`UPDATE history SET applied_revision = ?`, head);
  unappliedOf(connection).noteApplied(head);
}
