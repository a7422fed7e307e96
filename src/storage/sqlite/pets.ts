import type { RecordChange } from "../../domain/import.ts";
import { type InventoryItem, type Pet, type PetStatus, petStatuses, type StockedPet } from "../../domain/pet.ts";
import type { ListQuery } from "../../domain/pet-store.ts";
import { assertAscending, readEnumText, readInteger, readStringArray } from "./column-values.ts";
import type { Connection } from "./connection.ts";
import type { ImportTable } from "./import/staging.ts";
import { createListClause } from "./list-clause.ts";

interface InventoryRow {
  readonly id: bigint;
  readonly quantity: bigint;
  readonly status: string;
}

interface PetRow extends InventoryRow {
  readonly name: string;
  readonly category: string;
  readonly photo_urls: string;
  readonly tags: string;
}

export function listInventory(connection: Connection, query: ListQuery<PetStatus>): InventoryItem[] {
  const clause = createListClause(query);
  const rows = connection.all<InventoryRow>(`SELECT id, quantity, status FROM pets ${clause.sql}`, ...clause.values);
  assertAscending(rows);
  return rows.map(inventoryFromRow);
}

/** Undefined when there is no such pet. */
export function getPet(connection: Connection, id: bigint): Pet | undefined {
  const row = connection.get<PetRow>(`SELECT * FROM pets WHERE id = ?`, id);
  return row && petFromRow(row);
}

export function countPets(connection: Connection): number {
  return Number(connection.get<{ count: bigint }>(`SELECT count(*) AS count FROM pets`)?.count);
}

/** All pets by ascending id, one by one. */
export function* iteratePets(connection: Connection): Generator<StockedPet> {
  for (const row of connection.iterate<PetRow>(`SELECT * FROM pets ORDER BY id`)) {
    yield { ...petFromRow(row), quantity: readInteger(row.quantity) };
  }
}

/** How pets are imported. */
export const petImport: ImportTable<RecordChange<StockedPet>> = {
  table: "pets",
  columns: {
    name: "TEXT",
    category: "TEXT",
    photo_urls: "TEXT",
    tags: "TEXT",
    status: "TEXT",
    quantity: "INTEGER",
  },
  toValues: ({ name, category, photoUrls, tags, status, quantity }) => [
    name ?? null,
    category ?? null,
    photoUrls === undefined ? null : JSON.stringify(photoUrls),
    tags === undefined ? null : JSON.stringify(tags),
    status ?? null,
    quantity ?? null,
  ],
};

function inventoryFromRow(row: InventoryRow): InventoryItem {
  return {
    petId: readInteger(row.id),
    quantity: readInteger(row.quantity),
    status: readEnumText(row.status, petStatuses),
  };
}

function petFromRow(row: PetRow): Pet {
  return {
    id: row.id,
    name: row.name,
    category: row.category,
    photoUrls: readStringArray(row.photo_urls),
    tags: readStringArray(row.tags),
    status: readEnumText(row.status, petStatuses),
  };
}
