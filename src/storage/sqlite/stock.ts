import { type PetStatus, petStatuses } from "../../domain/pet.ts";
import type { StockEntry } from "../../domain/stock.ts";
import { versionOf } from "../stored-stock.ts";
import { readEnumText, readInteger } from "./column-values.ts";
import type { Connection } from "./connection.ts";
import { lineageOf } from "./history-bounds.ts";
import { unappliedOf } from "./unapplied-changes.ts";

/** What is stored of a pet's stock. */
export interface StockValues {
  readonly petId: bigint;
  readonly quantity: bigint;
  readonly status: PetStatus;
  /** Of the last change; 0 before the first one. */
  readonly revision: bigint;
  /** How many changes there have been. */
  readonly changes: bigint;
  /** The sum of the holds that nothing has ended, or noted to be over. */
  readonly held: bigint;
  readonly lineage: string;
}

/** A pet's stock as an entry, whose version is made when it is asked for: most writes need none. */
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

/** Finds the stock of those of the pets that there are. Throws `DamagedRowError`. */
export function findStocks(connection: Connection, petIds: readonly bigint[]): StoredStock[] {
  const rows = connection.all<StockRow>(
    `SELECT pet_id, quantity, revision, changes, held, status FROM json_each(?) CROSS JOIN stock ON pet_id = value`,
    `[${petIds.join(",")}]`,
  );
  const lineage = lineageOf(connection);
  return rows.map((row) => currentStock(connection, row, lineage));
}

/** A row with the pet's last change, which may not have been applied to it. */
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
