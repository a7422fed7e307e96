import type { ChangeKind } from "../../domain/history.ts";
import { petStatuses } from "../../domain/pet.ts";
import type { ChangeNote, StockEntry } from "../../domain/stock.ts";
import type { WriteContext } from "../../domain/stock-store.ts";
import { readEnumText, readInteger } from "./column-values.ts";
import type { Connection } from "./connection.ts";
import { lineageOf } from "./history-bounds.ts";

/** What is stored of a pet's stock. */
export interface StoredStock extends StockEntry {
  /** Of the last change; 0 before the first one. */
  readonly revision: bigint;
  /** How many changes there have been. */
  readonly changes: bigint;
  /** The sum of the holds that nothing has ended, or noted to be over. */
  readonly held: bigint;
  readonly lineage: string;
}

interface StockRow {
  readonly quantity: bigint;
  readonly revision: bigint;
  readonly changes: bigint;
  readonly held: bigint;
  readonly status: string;
}

/** Undefined when there is no such pet. Throws `DamagedRowError`. */
export function findStock(connection: Connection, petId: bigint): StoredStock | undefined {
  const row = connection.get<StockRow>(
    `SELECT quantity, revision, changes, held, status FROM stock WHERE pet_id = ?`,
    petId,
  );
  return row && stockFromRow(petId, row, lineageOf(connection));
}

/** A new stock count, and what the history tells of it. */
export interface StockWrite extends ChangeNote {
  readonly kind: ChangeKind;
  readonly quantity: bigint;
}

/** Every 128th change of a pet has a mark, from which readers find the changes before it. */
export const changesPerMark = 128;

/** Writes a new stock count with its history, and returns what is stored then. To be called in a transaction. */
export function writeStock(
  connection: Connection,
  stock: StoredStock,
  { kind, quantity, reason, reference }: StockWrite,
  { keyId, requestId, nowMs }: WriteContext,
): StoredStock {
  const { petId, quantity: before, revision: previous } = stock;
  const changes = stock.changes + 1n;
  // Its revision is one above the highest, which is never deleted: so SQLite numbers them without a gap.
  const revision = connection.insert(
    `INSERT INTO changes
       (pet_id, previous, before, after, kind, reason, reference, key_id, request_id, occurred_at_ms)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    petId,
    previous,
    before,
    quantity,
    kind,
    reason ?? null,
    reference ?? null,
    keyId,
    requestId,
    BigInt(nowMs),
  );
  connection.run(
    `UPDATE stock SET quantity = ?, revision = ?, changes = ? WHERE pet_id = ?`,
    quantity,
    revision,
    changes,
    petId,
  );
  if (changes % BigInt(changesPerMark) === 0n) {
    connection.run(`INSERT INTO change_marks (pet_id, revision) VALUES (?, ?)`, petId, revision);
  }
  return { ...stock, quantity, revision, changes, version: versionOf(stock.lineage, revision) };
}

/** What callers see of it. */
export function entryOf({ petId, quantity, status, version }: StoredStock): StockEntry {
  return { petId, quantity, status, version };
}

/** The version of an entry whose last change has this revision. */
export function versionOf(lineage: string, revision: bigint | number): string {
  return `${lineage}-${revision}`;
}

function stockFromRow(petId: bigint, row: StockRow, lineage: string): StoredStock {
  return {
    petId,
    quantity: readInteger(row.quantity),
    status: readEnumText(row.status, petStatuses),
    version: versionOf(lineage, row.revision),
    revision: readInteger(row.revision),
    changes: readInteger(row.changes),
    held: readInteger(row.held),
    lineage,
  };
}
