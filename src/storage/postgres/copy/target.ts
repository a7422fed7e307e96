import type { CopyTarget } from "../../copy/copy-store.ts";
import { type CopiedRow, type CopiedTable, copiedTables, type StoreHead } from "../../copy/tables.ts";
import { type Connection, LostConnectionError } from "../connection/connection.ts";
import { DatabaseError } from "../connection/database-error.ts";
import { parseDatabaseUrl } from "../connection/database-url.ts";
import { identify, toDatabaseError } from "../database.ts";
import { copyRows } from "../import/copy.ts";
import { migrateAlone } from "../migrations.ts";
import {
  beginLong,
  flatten,
  lockUnserved,
  type OpenedSide,
  openSide,
  readHead,
  readRows,
  toCopyError,
} from "./side.ts";

/**
 * Opens the database of a store to be made by a copy. It may be empty, or a store with nothing in it. Throws
 * `DatabaseError`.
 */
export async function openPostgresTarget(url: string): Promise<CopyTarget> {
  return new PostgresTarget(await openSide(parseDatabaseUrl(url)));
}

/** Everything is in one transaction, which ends with the connection at the latest. */
class PostgresTarget implements CopyTarget {
  readonly shown: string;
  readonly identity: string;
  readonly #side: OpenedSide;

  constructor(side: OpenedSide) {
    this.shown = side.address.shown;
    this.identity = side.identity;
    this.#side = side;
  }

  async begin(): Promise<void> {
    const { connection, address } = this.#side;
    try {
      await beginLong(connection);
      await identify(connection, address);
      await migrateAlone(connection);
      await lockUnserved(this.#side, "EXCLUSIVE", "");
      await assertEmpty(this.#side);
    } catch (error) {
      throw toDatabaseError(error, address);
    }
  }

  write(table: CopiedTable, pieces: AsyncIterable<readonly CopiedRow[]>): Promise<void> {
    const columns = Object.keys(table.columns).join(", ");
    return this.#run((connection) => copyRows(connection, `${table.name} (${columns})`, flatten(pieces)));
  }

  finish(head: StoreHead): Promise<void> {
    return this.#run(async (connection) => {
      await writeHead(connection, head);
      await advanceSequences(connection);
      // The first plans would otherwise take the tables for empty.
      await connection.script(`ANALYZE ${copiedTables.map(({ name }) => name).join(", ")}`);
    });
  }

  async *read(table: CopiedTable): AsyncGenerator<CopiedRow[]> {
    try {
      yield* readRows(this.#side.connection, table);
    } catch (error) {
      throw toCopyError(error, this.#side.address);
    }
  }

  readHead(): Promise<StoreHead> {
    return this.#run(readHead);
  }

  async commit(): Promise<void> {
    try {
      await this.#side.connection.commit();
    } catch (error) {
      throw error instanceof LostConnectionError
        ? new DatabaseError(
            `${this.shown}: the connection was lost at the very end, and the copy is there as a whole or not at all; run it again, which refuses if it is there`,
            { cause: error },
          )
        : toCopyError(error, this.#side.address);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#side.connection.close();
  }

  async #run<T>(work: (connection: Connection) => Promise<T>): Promise<T> {
    try {
      return await work(this.#side.connection);
    } catch (error) {
      throw toCopyError(error, this.#side.address);
    }
  }
}

/** Throws `DatabaseError`. */
async function assertEmpty({ connection, address }: OpenedSide): Promise<void> {
  const looks = copiedTables.map(({ name }) => `SELECT '${name}' AS name WHERE EXISTS (SELECT 1 FROM ${name})`);
  const filled = await connection.query<{ name: string }>(looks.join(" UNION ALL "));
  if (filled.length > 0) {
    const names = filled.map(({ name }) => name).join(", ");
    throw new DatabaseError(`${address.shown}: is not empty: it has ${names}; name an empty database to copy to`);
  }
}

async function writeHead(connection: Connection, { lineage, holdPosition }: StoreHead): Promise<void> {
  await connection.query(
    `UPDATE head SET lineage = $1, hold_position = $2, revision = (SELECT coalesce(max(changes.revision), 0) FROM changes)`,
    lineage,
    holdPosition,
  );
}

/** The next number comes behind those that were copied. */
async function advanceSequences(connection: Connection): Promise<void> {
  for (const table of ["keys", "webhooks", "webhook_attempts"]) {
    await connection.query(
      `SELECT setval(pg_get_serial_sequence('${table}', 'number'), max(number)) FROM ${table} HAVING count(*) > 0`,
    );
  }
}
