import type { WaitOptions } from "../../domain/store/store.ts";
import { Connection, fromDriverError } from "./connection/connection.ts";
import type { DatabaseAddress } from "./connection/database-url.ts";

/** How many rows are fetched at once. */
const rowsPerFetch = 1_000;

/** How long a fetch may take, in milliseconds: the first one may have to sort. */
const fetchTimeoutMs = 60_000;

/**
 * Reads the rows of one query, as of one moment, over a connection of its own. A cursor keeps the memory small, however
 * many rows there are.
 */
export async function* exportRows<Row, Item>(
  address: DatabaseAddress,
  sql: string,
  fromRow: (row: Row) => Item,
  { signal }: WaitOptions = {},
): AsyncGenerator<Item> {
  signal?.throwIfAborted();
  try {
    const connection = await Connection.open(address);
    try {
      await connection.script("BEGIN READ ONLY; SET LOCAL idle_in_transaction_session_timeout = 0");
      await connection.script(`DECLARE exported NO SCROLL CURSOR FOR ${sql}`);
      for (;;) {
        const rows = await fetchNext<Row>(connection);
        for (const row of rows) {
          yield fromRow(row);
          signal?.throwIfAborted();
        }
        if (rows.length < rowsPerFetch) {
          return;
        }
      }
    } finally {
      await connection.close();
    }
  } catch (error) {
    throw fromDriverError(error);
  }
}

async function fetchNext<Row>(connection: Connection): Promise<Row[]> {
  const timer = setTimeout(() => connection.cut(), fetchTimeoutMs);
  try {
    return await connection.query<Row>(`FETCH ${rowsPerFetch} FROM exported`);
  } finally {
    clearTimeout(timer);
  }
}
