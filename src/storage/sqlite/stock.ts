import { type PetStatus, petStatuses } from "../../domain/pet.ts";
import type { StockEntry } from "../../domain/stock.ts";
import type { WriteContext } from "../../domain/store.ts";
import { type StockWrite, versionOf } from "../rows.ts";
import { type Connection, readEnumText, readInteger, type Value } from "./connection.ts";
import { lineageOf } from "./history-bounds.ts";
import { type UnappliedChanges, unappliedOf } from "./unapplied-changes.ts";

/** What is stored of a pet's stock. */
interface StockValues {
  readonly petId: bigint;
  readonly quantity: bigint;
  readonly status: PetStatus;
  /** The revision of the last change; 0 before the first one. */
  readonly revision: bigint;
  /** How many changes there have been. */
  readonly changes: bigint;
  /** The sum of the holds that are stored as held, some of which may be over. */
  readonly held: bigint;
  readonly lineage: string;
}

/** A pet's stock as an entry. The version is made when it is asked for, because most writes need none. */
export class StoredStock implements StockValues, StockEntry {
  readonly petId: bigint;
  readonly quantity: bigint;
  readonly status: PetStatus;
  readonly revision: bigint;
  readonly changes: bigint;
  readonly held: bigint;
  readonly lineage: string;

  constructor({ petId, quantity, status, revision, changes, held, lineage }: StockValues) {
    this.petId = petId;
    this.quantity = quantity;
    this.status = status;
    this.revision = revision;
    this.changes = changes;
    this.held = held;
    this.lineage = lineage;
  }

  get version(): string {
    return versionOf(this.lineage, this.revision);
  }
}

interface StockRow {
  readonly pet_id: bigint;
  readonly quantity: bigint;
  readonly revision: bigint;
  readonly changes: bigint;
  readonly held: bigint;
  readonly status: string;
}

/** Undefined when there is no such pet. Throws `DamagedRowError`. */
export function findStock(connection: Connection, petId: bigint): StoredStock | undefined {
  const row = connection.get<StockRow>(
    `SELECT pet_id, quantity, revision, changes, held, status FROM stock WHERE pet_id = ?`,
    petId,
  );
  return row && currentStock(connection, row, lineageOf(connection));
}

/** Finds the stock of those of the pets that exist. Throws `DamagedRowError`. */
function findStocks(connection: Connection, petIds: readonly bigint[]): StoredStock[] {
  const rows = connection.all<StockRow>(
    `SELECT pet_id, quantity, revision, changes, held, status FROM json_each(?) CROSS JOIN stock ON pet_id = value`,
    `[${petIds.join(",")}]`,
  );
  const lineage = lineageOf(connection);
  return rows.map((row) => currentStock(connection, row, lineage));
}

/** The stock in a row, with the pet's last change, which may not have been applied to the row. */
function currentStock(connection: Connection, row: StockRow, lineage: string): StoredStock {
  const change = unappliedOf(connection).find(row.pet_id);
  const { quantity, revision, changes } = change !== undefined && change.revision > row.revision ? change : row;
  return new StoredStock({
    petId: readInteger(row.pet_id),
    quantity: readInteger(quantity),
    status: readEnumText(row.status, petStatuses),
    revision: readInteger(revision),
    changes: readInteger(changes),
    held: readInteger(row.held),
    lineage,
  });
}

/** Every 128th change of a pet has a mark, from which readers find the changes before it. */
export const changesPerMark = 128;

/**
 * The writes of stock of one transaction. They stay in memory until `flush` inserts them into the history. So a command
 * that is refused before has nothing to undo, and needs no savepoint.
 *
 * `StockApplier` applies the changes to the table `stock` later.
 */
export class StockWrites {
  readonly #connection: Connection;
  readonly #unapplied: UnappliedChanges;
  readonly #known: Map<bigint, StoredStock>;
  readonly #changes: Value[][] = [];
  readonly #written: StoredStock[] = [];

  /** Reads the stock of all pets that will be asked for. Throws `DamagedRowError`. */
  constructor(connection: Connection, petIds: readonly bigint[]) {
    this.#connection = connection;
    this.#unapplied = unappliedOf(connection);
    this.#known = new Map(findStocks(connection, petIds).map((stock) => [stock.petId, stock]));
  }

  /** The stock of a pet after the writes so far. Undefined when there is no such pet. */
  find(petId: bigint): StoredStock | undefined {
    return this.#known.get(petId);
  }

  /** Takes note that other code has written what is held of a pet. */
  setHeld(stock: StoredStock, held: bigint): void {
    const { petId, quantity, status, revision, changes, lineage } = stock;
    this.#known.set(petId, new StoredStock({ petId, quantity, status, revision, changes, held, lineage }));
  }

  /** Sets a new stock count. Returns the stock as it will be stored. */
  write(
    { petId, quantity: before, status, held, revision: previous, changes, lineage }: StoredStock,
    { kind, quantity, reason, reference }: StockWrite,
    { keyId, requestId, nowMs }: WriteContext,
  ): StoredStock {
    const number = changes + 1n;
    const note = [kind, reason ?? null, reference ?? null, keyId, requestId, BigInt(nowMs)];
    const place = this.#changes.push([petId, previous, before, quantity, number, ...note]);
    const revision = this.#unapplied.head + BigInt(place);
    const written = new StoredStock({ petId, quantity, status, held, revision, changes: number, lineage });
    this.#known.set(petId, written);
    this.#written.push(written);
    return written;
  }

  /** Inserts the changes. No write may follow. */
  flush(): void {
    this.#insertChanges();
    for (const { petId, quantity, revision, changes } of this.#written) {
      this.#unapplied.note(petId, { quantity, revision, changes });
      if (changes % BigInt(changesPerMark) === 0n) {
        this.#connection.run(`INSERT INTO change_marks (pet_id, revision) VALUES (?, ?)`, petId, revision);
      }
    }
  }

  /**
   * SQLite gives each change a revision one above the highest. The newest change is never deleted, so revisions have no
   * gap.
   */
  #insertChanges(): void {
    let at = 0;
    for (; at + changesPerInsert <= this.#changes.length; at += changesPerInsert) {
      this.#connection.run(insertMany, ...this.#changes.slice(at, at + changesPerInsert).flat());
    }
    for (const change of this.#changes.slice(at)) {
      this.#connection.run(insertOne, ...change);
    }
  }
}

/** One statement with many rows takes two thirds of the time of as many statements. */
const changesPerInsert = 20;

const insertOne = insertOf(1);
const insertMany = insertOf(changesPerInsert);

function insertOf(count: number): string {
  const row = "(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)";
  return `INSERT INTO changes
            (pet_id, previous, before, after, number, kind, reason, reference, key_id, request_id, occurred_at_ms)
          VALUES ${Array(count).fill(row).join(", ")}`;
}
