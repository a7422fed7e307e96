import { type ImportCounts, maxStrayPets, type StrayOrders } from "../domain/import.ts";

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
  readonly orders: bigint;
}

/** Describes the stray orders from the rows of all their pets, by ascending id. */
export function straysFromRows(rows: readonly StrayRow[]): StrayOrders {
  return {
    count: rows.reduce((sum, { orders }) => sum + Number(orders), 0),
    petCount: rows.length,
    petIds: rows.slice(0, maxStrayPets).map((row) => row.pet_id),
  };
}
