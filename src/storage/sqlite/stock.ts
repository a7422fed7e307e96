import type { StockWrite } from "../../domain/stock.ts";
import type { WriteContext } from "../../domain/store.ts";
import type { Connection, Value } from "./connection.ts";
import { headOf } from "./history-bounds.ts";
import { type StockCache, type StockRow, type StoredStock, stockCacheOf } from "./stock-cache.ts";

/**
 * Undefined when there is no such pet. Over a connection that only reads, `held` may be out of date. Throws
 * `DamagedRowError`.
 */
export function findStock(connection: Connection, petId: bigint): StoredStock | undefined {
  return stockCacheOf(connection).find(petId) ?? readStock(connection, petId);
}

/** The columns of a `StockRow`. */
const stockColumns = "pet_id, quantity, revision, changes, held, status";

/** As `findStock`, but reads the row in any case, so that `held` is up to date. */
export function readStock(connection: Connection, petId: bigint): StoredStock | undefined {
  const row = connection.get<StockRow>(`SELECT ${stockColumns} FROM stock WHERE pet_id = ?`, petId);
  return row && stockCacheOf(connection).add(row);
}

/** Reads the stock of the pets that the cache lacks. Returns those that do not exist. Throws `DamagedRowError`. */
function cacheStocks(connection: Connection, petIds: readonly bigint[]): ReadonlySet<bigint> {
  const cache = stockCacheOf(connection);
  const unknown = new Set(petIds.filter((petId) => cache.find(petId) === undefined));
  if (unknown.size === 0) {
    return unknown;
  }
  const rows = connection.all<StockRow>(
    `SELECT ${stockColumns} FROM json_each(?) CROSS JOIN stock ON pet_id = value`,
    `[${[...unknown].join(",")}]`,
  );
  for (const row of rows) {
    unknown.delete(cache.add(row).petId);
  }
  return unknown;
}

/** Adds to what is held of a pet. To be called in a transaction. */
export function addHeld(connection: Connection, petId: bigint, added: bigint): void {
  connection.run(`UPDATE stock SET held = held + ? WHERE pet_id = ?`, added, petId);
  stockCacheOf(connection).noteHeld(petId, added);
}

/** Every 128th change of a pet has a mark, from which readers find the changes before it. */
export const changesPerMark = 128;

/**
 * Writes of stock in one transaction. They stay in memory until `flush` inserts them into the history. So a command
 * that is refused before has nothing to undo, and needs no savepoint.
 *
 * `StockApplier` applies the changes to the table `stock` later.
 */
export class StockWrites {
  readonly #connection: Connection;
  readonly #cache: StockCache;
  /** The revision before the writes. */
  readonly #head: bigint;
  /** The pets that do not exist. */
  readonly #absent: ReadonlySet<bigint>;
  readonly #changes: Value[] = [];
  readonly #marks: StoredStock[] = [];

  /** Reads the stock of all pets that will be asked for. Throws `DamagedRowError`. */
  constructor(connection: Connection, petIds: readonly bigint[]) {
    this.#connection = connection;
    this.#cache = stockCacheOf(connection);
    this.#absent = cacheStocks(connection, petIds);
    this.#head = this.#cache.head;
  }

  /** The stock of a pet after the writes so far. Undefined when there is no such pet. */
  find(petId: bigint): StoredStock | undefined {
    const cached = this.#cache.find(petId);
    return cached !== undefined || this.#absent.has(petId) ? cached : readStock(this.#connection, petId);
  }

  /** Sets a new stock count of a pet that `find` has found. Returns the stock as it will be stored. */
  write(
    petId: bigint,
    { kind, quantity, reason, reference }: StockWrite,
    { keyId, requestId, nowMs }: WriteContext,
  ): StoredStock {
    const { before, after } = this.#cache.noteChange(petId, quantity);
    const note = [kind, reason ?? null, reference ?? null, keyId, requestId, BigInt(nowMs)] as const;
    this.#changes.push(petId, before.revision, before.quantity, quantity, after.changes, ...note);
    if (after.changes % BigInt(changesPerMark) === 0n) {
      this.#marks.push(after);
    }
    return after;
  }

  /** Inserts the changes. No write may follow. */
  flush(): void {
    this.#insertChanges();
    for (const { petId, revision } of this.#marks) {
      this.#connection.run(`INSERT INTO change_marks (pet_id, revision) VALUES (?, ?)`, petId, revision);
    }
  }

  /** Forgets the writes. To be called instead of `flush`. */
  discard(): void {
    this.#cache.takeBack(this.#head);
  }

  /**
   * SQLite gives each change a revision one above the highest. The newest change is never deleted, so revisions have no
   * gap.
   */
  #insertChanges(): void {
    let at = 0;
    for (; at + valuesPerInsert <= this.#changes.length; at += valuesPerInsert) {
      this.#connection.run(insertMany, ...this.#changes.slice(at, at + valuesPerInsert));
    }
    for (; at < this.#changes.length; at += columns.length) {
      this.#connection.run(insertOne, ...this.#changes.slice(at, at + columns.length));
    }
  }
}

/** What a write knows of a change. SQLite gives it the revision. */
const columns = [
  "pet_id",
  "previous",
  "before",
  "after",
  "number",
  "kind",
  "reason",
  "reference",
  "key_id",
  "request_id",
  "occurred_at_ms",
];

/** One statement with many rows takes two thirds of the time of as many statements. */
const changesPerInsert = 20;
const valuesPerInsert = changesPerInsert * columns.length;

const insertOne = insertOf(1);
const insertMany = insertOf(changesPerInsert);

function insertOf(count: number): string {
  const row = `(${columns.map(() => "?").join(", ")})`;
  return `INSERT INTO changes (${columns.join(", ")}) VALUES ${Array(count).fill(row).join(", ")}`;
}

/** Applies all changes to `stock`. To be called in a transaction. */
export function applyAll(connection: Connection): void {
  applyUpTo(connection, headOf(connection));
}

/** Applies the changes up to a revision to `stock`. To be called in a transaction. */
export function applyUpTo(connection: Connection, revision: bigint): void {
  connection.run(
    `UPDATE stock SET quantity = late.quantity, revision = late.revision, changes = late.changes
     FROM (SELECT pet_id, after AS quantity, max(revision) AS revision, number AS changes FROM changes
           WHERE revision > (SELECT applied_revision FROM history) AND revision <= ? GROUP BY pet_id) AS late
     WHERE late.pet_id = stock.pet_id AND late.revision > stock.revision`,
    revision,
  );
  markApplied(connection, revision);
}

/**
 * Marks the changes up to a revision as applied, all of them by default. It is for a writer that has written them to
 * `stock` itself. To be called in a transaction.
 */
export function markApplied(connection: Connection, revision = headOf(connection)): void {
  connection.run(`UPDATE history SET applied_revision = ?`, revision);
  stockCacheOf(connection).noteApplied(revision);
}
