import type { RecordChange } from "../../domain/import.ts";
import { type Pet, petStatuses, type StockedPet } from "../../domain/pet.ts";
import { readEnumText, readInteger, readStringArray } from "./column-values.ts";
import type { Connection } from "./connection.ts";
import type { ImportTable } from "./import/staging.ts";

interface PetRow {
  readonly id: bigint;
  readonly name: string;
  readonly category: string;
  readonly photo_urls: string;
  readonly tags: string;
  readonly status: string;
}

interface StockedPetRow extends PetRow {
  readonly quantity: bigint;
}

/** Undefined when there is no such pet. */
export function getPet(connection: Connection, id: bigint): Pet | undefined {
  const row = connection.get<PetRow>(`SELECT pets.*, status FROM pets JOIN stock ON pet_id = id WHERE id = +?`, id);
  return row && petFromRow(row);
}

export function countPets(connection: Connection): number {
  return Number(connection.get<{ count: bigint }>(`SELECT count(*) AS count FROM stock`)?.count);
}

/** All pets by ascending id, one by one. */
export function* iteratePets(connection: Connection): Generator<StockedPet> {
  const rows = connection.iterate<StockedPetRow>(
    `SELECT pets.*, status, quantity FROM pets CROSS JOIN current_stock ON pet_id = id ORDER BY id`,
  );
  for (const row of rows) {
    yield { ...petFromRow(row), quantity: readInteger(row.quantity) };
  }
}

/** How pets are imported. Their stock goes into a table of its own: see `mergeStock`. */
export const petImport: ImportTable<RecordChange<StockedPet>> = {
  table: "pets",
  columns: {
    name: "TEXT",
    category: "TEXT",
    photo_urls: "TEXT",
    tags: "TEXT",
  },
  otherColumns: {
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
