import type { CopySource } from "../../copy/copy-store.ts";
import { type CopiedRow, type CopiedTable, copiedTables, type StoreHead } from "../../copy/tables.ts";
import { DatabaseError } from "../connection/database-error.ts";
import { parseDatabaseUrl } from "../connection/database-url.ts";
import { identify, toDatabaseError } from "../database.ts";
import { schemaVersion } from "../migrations.ts";
import { beginLong, lockUnserved, type OpenedSide, openSide, readHead, readRows, toCopyError } from "./side.ts";

/**
 * Opens the store in a database to be copied. Until it is disposed of, no server can begin to use the store, and whoever
 * writes to it waits for the 5 s of a lock, and fails. Throws `DatabaseError` while a server uses it, and for what is no
 * store of this version.
 */
export async function openPostgresSource(url: string): Promise<CopySource> {
  const side = await openSide(parseDatabaseUrl(url));
  try {
    await assertCopyable(side);
    await beginLong(side.connection, "ISOLATION LEVEL REPEATABLE READ, READ ONLY");
    await lockUnserved(side, "SHARE", ": what it writes from now on would be missing in the copy");
    return new PostgresSource(side);
  } catch (error) {
    await side.connection.close();
    throw toDatabaseError(error, side.address);
  }
}

async function assertCopyable({ connection, address }: OpenedSide): Promise<void> {
  const version = await identify(connection, address);
  if (version === 0) {
    throw new DatabaseError(`${address.shown}: there is no such store`);
  }
  if (version < schemaVersion) {
    throw new DatabaseError(
      `${address.shown}: written by an older version of petstore; start a server on it once, which migrates it, and end that first`,
    );
  }
}

class PostgresSource implements CopySource {
  readonly shown: string;
  readonly identity: string;
  readonly #side: OpenedSide;

  constructor(side: OpenedSide) {
    this.shown = side.address.shown;
    this.identity = side.identity;
    this.#side = side;
  }

  async countRows(): Promise<number> {
    const counts = copiedTables.map(({ name }) => `(SELECT count(*) FROM ${name})`);
    const [row] = await this.#run(({ connection }) =>
      connection.query<{ rows: bigint }>(`SELECT ${counts.join(" + ")} AS rows`),
    );
    return Number(row?.rows);
  }

  async *read(table: CopiedTable): AsyncGenerator<CopiedRow[]> {
    try {
      yield* readRows(this.#side.connection, table);
    } catch (error) {
      throw toCopyError(error, this.#side.address);
    }
  }

  readHead(): Promise<StoreHead> {
    return this.#run(({ connection }) => readHead(connection));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#side.connection.close();
  }

  async #run<T>(work: (side: OpenedSide) => Promise<T>): Promise<T> {
    try {
      return await work(this.#side);
    } catch (error) {
      throw toCopyError(error, this.#side.address);
    }
  }
}
