import type { Pet, PetStatus, StockedPet } from "../../domain/pet.ts";
import type { Queryable } from "./connection/connection.ts";

interface PetRow {
  readonly id: bigint;
  readonly name: string;
  readonly category: string;
  readonly photo_urls: string[];
  readonly tags: string[];
  readonly status: PetStatus;
  readonly quantity: bigint;
}

const selection = `SELECT pets.id, pets.name, pets.category, pets.photo_urls, pets.tags, stock.status, stock.quantity
  FROM pets JOIN stock ON stock.pet_id = pets.id`;

/** Undefined when there is no such pet. */
export async function getPet(connection: Queryable, id: bigint): Promise<Pet | undefined> {
  const [row] = await connection.query<PetRow>(`${selection} WHERE pets.id = $1`, id);
  return row && petFromRow(row);
}

export async function countPets(connection: Queryable): Promise<number> {
  const [row] = await connection.query<{ count: bigint }>(`SELECT count(*) AS count FROM stock`);
  return Number(row?.count);
}

/** Selects all pets by ascending id. */
export const allPets = `${selection} ORDER BY pets.id`;

export function stockedPetFromRow(row: PetRow): StockedPet {
  return { ...petFromRow(row), quantity: row.quantity };
}

function petFromRow(row: PetRow): Pet {
  return {
    id: row.id,
    name: row.name,
    category: row.category,
    photoUrls: row.photo_urls,
    tags: row.tags,
    status: row.status,
  };
}
