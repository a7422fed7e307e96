import { type ImportCounts, maxStrayPets, type StrayOrders } from "../domain/catalog.ts";

/*
 * Both backends stage the records of an import in temporary tables, count what a merge would do, and merge them. Their
 * SQL differs; what is here does not.
 */

/** The table of one kind of records. `Type` are the types of columns in SQL, and `Value` those of their values. */
export interface ImportTable<Item, Type extends string, Value> {
  readonly table: "pets" | "orders";
  /** All columns of the table but the id, with their types. None of them is ever null in the store. */
  readonly columns: Readonly<Record<string, Type>>;
  /** The other columns of the records, which other tables keep. */
  readonly otherColumns: Readonly<Record<string, Type>>;
  /** The values of all these columns, in their order; null for a field that the record does not change. */
  readonly toValues: (item: Item) => Value[];
}

/** The condition in SQL that a staged record has all of its fields. */
export function isWholeSql({ columns, otherColumns }: ImportTable<never, string, unknown>): string {
  return Object.keys({ ...columns, ...otherColumns })
    .map((name) => `${name} IS NOT NULL`)
    .join(" AND ");
}

/** Counts staged records. */
export interface CountsRow {
  readonly total: bigint;
  /** Those that are in the store. */
  readonly known: bigint;
  /** Those that have only some of their fields. All of them are known. */
  readonly partial: bigint;
}

/** What a merge of the staged records does. */
export function countsFromRow({ total, known, partial }: CountsRow): ImportCounts {
  return { created: Number(total - known), replaced: Number(known - partial), changed: Number(partial) };
}

/** A pet that staged orders name, and that is neither in the store nor staged. */
export interface StrayRow {
  readonly pet_id: bigint;
  /** How many staged orders name such pets, and how many of these pets there are: the same in each row. */
  readonly orders: bigint;
  readonly pets: bigint;
}

/**
 * Selects the first stray pets by ascending id, as `StrayRow`. An order that is imported without a `petId` keeps the
 * one that it has, and is no stray.
 */
export const selectStrays = `
  SELECT pet_id, CAST(sum(count(*)) OVER () AS bigint) AS orders, count(*) OVER () AS pets FROM staged_orders
  WHERE pet_id IS NOT NULL AND NOT EXISTS (SELECT 1 FROM pets WHERE pets.id = pet_id)
    AND NOT EXISTS (SELECT 1 FROM staged_pets WHERE staged_pets.id = pet_id)
  GROUP BY pet_id ORDER BY pet_id LIMIT ${maxStrayPets}`;

/** Describes the stray orders from the rows of `selectStrays`. */
export function straysFromRows(rows: readonly StrayRow[]): StrayOrders {
  const [first] = rows;
  return {
    count: Number(first?.orders ?? 0),
    petCount: Number(first?.pets ?? 0),
    petIds: rows.map((row) => row.pet_id),
  };
}
