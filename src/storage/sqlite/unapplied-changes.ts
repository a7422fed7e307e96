import { greaterOf } from "../../domain/ranges.ts";
import type { Connection } from "./connection.ts";
import { headOf } from "./history-bounds.ts";

/*
 * A commit appends its changes to the history, and mostly leaves `stock` as it is. The rows of a group's pets lie on as
 * many pages, and each of these would be written for a few bytes. The writing thread applies the changes of many groups
 * to `stock` together, in the order of ids. `history.applied_revision` says up to which change all have been applied; of
 * the later ones some may have been. So a pet's stock is its row, or its last unapplied change where that is newer.
 *
 * In SQL the view `current_stock` says the same. It goes through all unapplied changes, and is for whoever reads many
 * rows once.
 */

/** What a pet's last change has made of its stock. */
export interface ChangedStock {
  readonly quantity: bigint;
  readonly revision: bigint;
  /** How many changes there have been. */
  readonly changes: bigint;
}

interface BoundsRow {
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

  /** The last unapplied change of a pet, if there is one. It may have been applied already. */
  find(petId: bigint): ChangedStock | undefined {
    this.#catchUp();
    return this.#byPet.get(petId);
  }

  /** The pets of the unapplied changes, by ascending id. */
  petIds(): bigint[] {
    this.#catchUp();
    return [...this.#byPet.keys()].sort((a, b) => (a < b ? -1 : 1));
  }

  /** To be called where a transaction begins: others may have committed since the last one. */
  expire(): void {
    this.#isCurrent = false;
  }

  /** To be called where a transaction, or a part of one, was rolled back: it reads the changes again. */
  forget(): void {
    this.#byPet.clear();
    this.#applied = 0n;
    this.#head = 0n;
    this.#isCurrent = false;
  }

  /** Notes a change that this transaction has made, which need not be read then. They come in their order. */
  note(petId: bigint, change: ChangedStock): void {
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
    const { applied, head } = this.#connection.get<BoundsRow>(
      `SELECT applied_revision AS applied, (SELECT ifnull(max(revision), 0) FROM changes) AS head FROM history`,
    ) as BoundsRow;
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

const known = new WeakMap<Connection, UnappliedChanges>();

/** The unapplied changes as a connection sees them. Its transactions call `expire` when they begin. */
export function unappliedOf(connection: Connection): UnappliedChanges {
  const present = known.get(connection) ?? new UnappliedChanges(connection);
  known.set(connection, present);
  return present;
}

/** Applies all changes to `stock`. To be called in a transaction. */
export function applyAll(connection: Connection): void {
  connection.run(
    `UPDATE stock SET quantity = late.quantity, revision = late.revision, changes = late.changes
     FROM unapplied_stock AS late WHERE late.pet_id = stock.pet_id AND late.revision > stock.revision`,
  );
  markApplied(connection);
}

/** Marks all changes as applied, by a writer that has written them to `stock` itself. To be called in a transaction. */
export function markApplied(connection: Connection): void {
  const head = headOf(connection);
  connection.run(`UPDATE history SET applied_revision = ?`, head);
  unappliedOf(connection).noteApplied(head);
}
