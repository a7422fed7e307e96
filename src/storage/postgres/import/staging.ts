import { type ImportCounts, type RecordChange, UnknownRecordError } from "../../../domain/import.ts";
import type { Order, StockedPet } from "../../../domain/pet.ts";
import type { Connection } from "../connection/connection.ts";
import { type CopiedValue, copyRows } from "./copy.ts";

/** The table of one kind of records, for imports. */
export interface ImportTable<Item> {
  readonly table: "pets" | "orders";
  /** All columns of the table but the id, with their types. None of them is ever null in the store. */
  readonly columns: ColumnTypes;
  /** What the records have besides, and other tables keep. */
  readonly otherColumns: ColumnTypes;
  /** The values of all these columns, in their order; null for a field that the record does not change. */
  readonly toValues: (item: Item) => CopiedValue[];
}

type ColumnTypes = Readonly<Record<string, "text" | "text[]" | "bigint" | "boolean">>;

/** How pets are imported. Their stock goes into a table of its own: see `mergeStock`. */
export const petImport: ImportTable<RecordChange<StockedPet>> = {
  table: "pets",
  columns: { name: "text", category: "text", photo_urls: "text[]", tags: "text[]" },
  otherColumns: { status: "text", quantity: "bigint" },
  toValues: ({ name, category, photoUrls, tags, status, quantity }) => [
    name ?? null,
    category ?? null,
    photoUrls ?? null,
    tags ?? null,
    status ?? null,
    quantity ?? null,
  ],
};

/** How orders are imported. */
export const orderImport: ImportTable<RecordChange<Order>> = {
  table: "orders",
  columns: { pet_id: "bigint", quantity: "bigint", ship_date_ms: "bigint", status: "text", complete: "boolean" },
  otherColumns: {},
  toValues: ({ petId, quantity, shipDateMs, status, complete }) => [
    petId ?? null,
    quantity ?? null,
    shipDateMs === undefined ? null : BigInt(shipDateMs),
    status ?? null,
    complete ?? null,
  ],
};

/** Gathers records in a new temporary table. Of several records with one id the later fields win. */
export async function stageAll<Item extends { readonly id: bigint }>(
  connection: Connection,
  importTable: ImportTable<Item>,
  items: Iterable<Item> | AsyncIterable<Item>,
): Promise<void> {
  const { table, toValues } = importTable;
  const types = { ...importTable.columns, ...importTable.otherColumns };
  const names = Object.keys(types);
  // Lists stand as texts, so that several records with one id can be put together.
  const columns = Object.entries(types).map(([name, type]) => `${name} ${type === "text[]" ? "text" : type}`);
  await connection.script(
    `CREATE TEMP TABLE sent_${table} (position bigint, id bigint, ${columns.join(", ")}) ON COMMIT DROP`,
  );
  async function* rows(): AsyncGenerator<CopiedValue[]> {
    let position = 0n;
    for await (const item of items) {
      yield [position, item.id, ...toValues(item)];
      position += 1n;
    }
  }
  await copyRows(connection, `sent_${table}`, rows());
  const cast = (name: string, value: string) => (types[name] === "text[]" ? `(${value})::text[]` : value);
  const last = (name: string) =>
    `${cast(name, `(array_agg(${name} ORDER BY position DESC) FILTER (WHERE ${name} IS NOT NULL))[1]`)} AS ${name}`;
  await connection.script(
    `CREATE TEMP TABLE staged_${table} ON COMMIT DROP AS
       WITH repeated AS (SELECT id FROM sent_${table} GROUP BY id HAVING count(*) > 1)
       SELECT position, id, ${names.map((name) => `${cast(name, name)} AS ${name}`).join(", ")} FROM sent_${table}
       WHERE id NOT IN (SELECT id FROM repeated)
       UNION ALL
       SELECT min(position), id, ${names.map(last).join(", ")} FROM sent_${table}
       WHERE id IN (SELECT id FROM repeated) GROUP BY id;
     DROP TABLE sent_${table};
     CREATE UNIQUE INDEX ON staged_${table} (id);
     ANALYZE staged_${table}`,
  );
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
export async function countStaged(connection: Connection, importTable: ImportTable<never>): Promise<ImportCounts> {
  const { table } = importTable;
  const isWhole = isWholeSql(importTable);
  const isKnown = `EXISTS (SELECT 1 FROM ${table} WHERE ${table}.id = staged.id)`;
  const [unknown] = await connection.query<{ id: bigint }>(
    `SELECT id FROM staged_${table} AS staged WHERE NOT (${isWhole}) AND NOT ${isKnown} ORDER BY position LIMIT 1`,
  );
  if (unknown !== undefined) {
    throw new UnknownRecordError(table, unknown.id);
  }
  const [counts] = await connection.query<CountsRow>(
    `SELECT count(*) AS total, count(*) FILTER (WHERE ${isKnown}) AS known,
       count(*) FILTER (WHERE NOT (${isWhole})) AS partial
     FROM staged_${table} AS staged`,
  );
  const { total, known, partial } = counts as CountsRow;
  return { created: Number(total - known), replaced: Number(known - partial), changed: Number(partial) };
}

/** Merges the gathered records: a whole one replaces the stored one, another one changes the fields that it has. */
export async function mergeStaged(connection: Connection, importTable: ImportTable<never>): Promise<void> {
  const { table } = importTable;
  const names = Object.keys(importTable.columns);
  const isWhole = isWholeSql(importTable);
  await connection.query(
    `INSERT INTO ${table} (id, ${names.join(", ")})
     SELECT id, ${names.join(", ")} FROM staged_${table} WHERE ${isWhole} ORDER BY id
     ON CONFLICT (id) DO UPDATE SET ${names.map((name) => `${name} = excluded.${name}`).join(", ")}`,
  );
  await connection.query(
    `UPDATE ${table} SET ${names.map((name) => `${name} = coalesce(staged.${name}, ${table}.${name})`).join(", ")}
     FROM (SELECT * FROM staged_${table} WHERE NOT (${isWhole})
             AND (${names.map((name) => `${name} IS NOT NULL`).join(" OR ")})) AS staged
     WHERE staged.id = ${table}.id`,
  );
}

function isWholeSql({ columns, otherColumns }: ImportTable<never>): string {
  return Object.keys({ ...columns, ...otherColumns })
    .map((name) => `${name} IS NOT NULL`)
    .join(" AND ");
}
