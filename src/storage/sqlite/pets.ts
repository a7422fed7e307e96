import type { InventoryItem } from "../../domain/inventory.ts";
import { type Pet, type PetStatus, petStatuses, type StockedPet } from "../../domain/pet.ts";
import type { ListQuery } from "../../domain/store.ts";
import type { Connection } from "./connection.ts";
import { assertAscending, readInteger, readTexts, readWord } from "./damage.ts";
import { createListClause } from "./list-clause.ts";
import type { Staging } from "./staging.ts";

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

/**
 * Sets the stock count of a pet, and returns the pet's status; undefined when there is no such pet. Throws
 * `DamagedRowError` when it is none.
 */
export function updateQuantity(connection: Connection, petId: bigint, quantity: bigint): PetStatus | undefined {
  const sql = `UPDATE pets SET quantity = ? WHERE id = ? RETURNING status`;
  const [row] = connection.all<Pick<InventoryRow, "status">>(sql, quantity, petId);
  return row && readWord(row.status, petStatuses);
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
export const petStaging: Staging<StockedPet> = {
  create(connection) {
    connection.execute(
      `CREATE TEMP TABLE staged_pets (
         id INTEGER PRIMARY KEY, name TEXT, category TEXT, photo_urls TEXT, tags TEXT, status TEXT, quantity INTEGER
       ) STRICT`,
    );
  },

  stage(connection, pet) {
    connection.run(
      `INSERT OR REPLACE INTO staged_pets (id, name, category, photo_urls, tags, status, quantity)
       VALUES (?, ?, ?, ?, ?, ?, ?)`,
      pet.id,
      pet.name,
      pet.category,
      JSON.stringify(pet.photoUrls),
      JSON.stringify(pet.tags),
      pet.status,
      pet.quantity,
    );
  },

  merge(connection) {
    connection.run(
      `INSERT INTO pets (id, name, category, photo_urls, tags, status, quantity)
       SELECT id, name, category, photo_urls, tags, status, quantity FROM staged_pets WHERE true ORDER BY id
       ON CONFLICT (id) DO UPDATE SET
         name = excluded.name, category = excluded.category, photo_urls = excluded.photo_urls,
         tags = excluded.tags, status = excluded.status, quantity = excluded.quantity`,
    );
  },
};

function inventoryFromRow(row: InventoryRow): InventoryItem {
  return {
    petId: readInteger(row.id),
    quantity: readInteger(row.quantity),
    status: readWord(row.status, petStatuses),
  };
}

function petFromRow(row: PetRow): Pet {
  return {
    id: row.id,
    name: row.name,
    category: row.category,
    photoUrls: readTexts(row.photo_urls),
    tags: readTexts(row.tags),
    status: readWord(row.status, petStatuses),
  };
}
