import { type ImportCounts, UnknownRecordError } from "../../../domain/import.ts";
import type { Connection, Value } from "../connection.ts";

/** The table of one kind of records, for imports. */
export interface ImportTable<Item> {
  readonly table: "pets" | "orders";
  /** All columns of the table but the id, with their types. None of them is ever null in the store. */
  readonly columns: ColumnTypes;
  /** What the records have besides, and other tables keep. */
  readonly otherColumns?: ColumnTypes | undefined;
  /** The values of all these columns, in their order; null for a field that the record does not change. */
  readonly toValues: (item: Item) => Value[];
}

type ColumnTypes = Readonly<Record<string, "TEXT" | "INTEGER">>;

/** Gathers records in a new temporary table. Of several records with one id the later fields win. */
export async function stageAll<Item extends { readonly id: bigint }>(
  connection: Connection,
  { table, columns, otherColumns, toValues }: ImportTable<Item>,
  items: Iterable<Item> | AsyncIterable<Item>,
): Promise<void> {
  const all = { ...columns, ...otherColumns };
  const names = Object.keys(all);
  const typed = Object.entries(all).map(([name, type]) => `${name} ${type}`);
  connection.execute(
    `CREATE TEMP TABLE staged_${table} (id INTEGER PRIMARY KEY, position INTEGER, ${typed.join(", ")}) STRICT`,
  );
  const stage = `INSERT INTO staged_${table} (id, position, ${names.join(", ")})
     VALUES (?, ?, ${names.map(() => "?").join(", ")})
     ON CONFLICT (id) DO UPDATE SET ${names.map((name) => `${name} = ifnull(excluded.${name}, ${name})`).join(", ")}`;
  let position = 0n;
  for await (const item of items) {
    connection.run(stage, item.id, position, ...toValues(item));
    position += 1n;
  }
}

interface CountsRow {
  readonly total: bigint;
  readonly known: bigint;
  readonly partial: bigint;
}

/**
 * Counts what a merge of the gathered records would do. Throws `UnknownRecordError` for the first record that has only
 * some fields and is not in the store.
 */
export function countStaged(connection: Connection, importTable: ImportTable<never>): ImportCounts {
  const { table } = importTable;
  const isWhole = isWholeSql(importTable);
  const isKnown = `id IN (SELECT id FROM ${table})`;
  const unknown = connection.get<{ id: bigint }>(
    `SELECT id FROM staged_${table} WHERE NOT (${isWhole}) AND NOT ${isKnown} ORDER BY position LIMIT 1`,
  );
  if (unknown !== undefined) {
    throw new UnknownRecordError(table, unknown.id);
  }
  const { total, known, partial } = connection.get<CountsRow>(
    `SELECT count(*) AS total, count(*) FILTER (WHERE ${isKnown}) AS known,
       count(*) FILTER (WHERE NOT (${isWhole})) AS partial
     FROM staged_${table}`,
  ) as CountsRow;
  return { created: Number(total - known), replaced: Number(known - partial), changed: Number(partial) };
}

/** Merges the gathered records: a whole one replaces the stored one, another one changes the fields that it has. */
export function mergeStaged(connection: Connection, importTable: ImportTable<never>): void {
  const { table } = importTable;
  const names = Object.keys(importTable.columns);
  const isWhole = isWholeSql(importTable);
  connection.run(
    `INSERT INTO ${table} (id, ${names.join(", ")})
     SELECT id, ${names.join(", ")} FROM staged_${table} WHERE ${isWhole} ORDER BY id
     ON CONFLICT (id) DO UPDATE SET ${names.map((name) => `${name} = excluded.${name}`).join(", ")}`,
  );
  connection.run(
    `UPDATE ${table} SET ${names.map((name) => `${name} = ifnull(staged.${name}, ${table}.${name})`).join(", ")}
     FROM (SELECT * FROM staged_${table} WHERE NOT (${isWhole}) AND coalesce(${names.join(", ")}) IS NOT NULL) AS staged
     WHERE staged.id = ${table}.id`,
  );
}

function isWholeSql({ columns, otherColumns }: ImportTable<never>): string {
  return Object.keys({ ...columns, ...otherColumns })
    .map((name) => `${name} IS NOT NULL`)
    .join(" AND ");
}
