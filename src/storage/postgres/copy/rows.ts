import type { CopiedRow, CopiedTable, CopiedValue, StoreHead } from "../../copy/tables.ts";
import type { Connection } from "../connection/connection.ts";

/** How many rows are fetched at once. */
const rowsPerFetch = 1_000;

/** Reads the rows of a table by ascending key. To be called in a transaction. */
export async function* readRows(connection: Connection, table: CopiedTable): AsyncGenerator<CopiedRow[]> {
  const { name, columns } = table;
  const names = Object.keys(columns);
  await connection.script(
    `DECLARE copied_${name} NO SCROLL CURSOR FOR SELECT ${names.join(", ")} FROM ${name} ORDER BY ${orderOf(table)}`,
  );
  for (let isMore = true; isMore; ) {
    const rows = await connection.query<Record<string, CopiedValue>>(`FETCH ${rowsPerFetch} FROM copied_${name}`);
    yield rows.map((row) => names.map((column) => row[column] ?? null));
    isMore = rows.length === rowsPerFetch;
  }
  await connection.script(`CLOSE copied_${name}`);
}

/** Texts in the order of their bytes, as other backends have them. */
function orderOf({ key, columns }: CopiedTable): string {
  return key.map((column) => (columns[column] === "text" ? `${column} COLLATE "C"` : column)).join(", ");
}

/** Hands on rows one by one. */
export async function* flatten(pieces: AsyncIterable<readonly CopiedRow[]>): AsyncGenerator<CopiedRow> {
  for await (const rows of pieces) {
    yield* rows;
  }
}

export async function readHead(connection: Connection): Promise<StoreHead> {
  const [head] = await connection.query<StoreHead>(`SELECT lineage, hold_position AS "holdPosition" FROM head`);
  return head as StoreHead;
}
