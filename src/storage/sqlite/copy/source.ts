import type { CopySource } from "../../copy/copy-store.ts";
import { type CopiedRow, type CopiedTable, copiedTables, type StoreHead } from "../../copy/tables.ts";
import type { Connection } from "../connection.ts";
import { assertUsable, openDatabase } from "../database.ts";
import type { ServerLock } from "../files/server-lock.ts";
import { identityOf, resolveStore, StoreFileError, toStoreFileError } from "../files/store-file.ts";
import { hasOlderSchema } from "../migrations.ts";
import { lockUnserved, readHead, readRows, toCopyError } from "./side.ts";

/**
 * Opens the store in a file to be copied. Until it is disposed of, no server can begin to use the store, and whoever
 * writes to it waits for the 5 s of a busy store, and fails. Throws `StoreFileError` while a server uses it, and for
 * what is no store of this version.
 */
export function openSqliteSource(file: string): CopySource {
  using opened = new DisposableStack();
  try {
    const path = resolveStore(file, "refuse");
    const connection = openDatabase(path);
    opened.defer(() => connection.close());
    assertCopyable(connection, file);
    const lock = lockUnserved(file, ": what it writes from now on would be missing in the copy");
    opened.defer(() => lock.release());
    // Nobody else can write from here on. Nothing is written by this transaction either.
    connection.run("BEGIN IMMEDIATE");
    const source = new SqliteSource(file, path, connection, lock);
    opened.move();
    return source;
  } catch (error) {
    throw toStoreFileError(toCopyError(error, file), file);
  }
}

function assertCopyable(connection: Connection, file: string): void {
  if (assertUsable(connection, file) === "empty") {
    throw new StoreFileError(`${file}: empty, and no store yet`);
  }
  if (hasOlderSchema(connection)) {
    throw new StoreFileError(
      `${file}: written by an older version of petstore; start a server on it once, which migrates it, and end that first`,
    );
  }
}

class SqliteSource implements CopySource {
  readonly shown: string;
  readonly identity: string | undefined;
  readonly #connection: Connection;
  readonly #lock: ServerLock;

  constructor(file: string, path: string, connection: Connection, lock: ServerLock) {
    this.shown = file;
    this.identity = identityOf(path);
    this.#connection = connection;
    this.#lock = lock;
  }

  async countRows(): Promise<number> {
    const counts = copiedTables.map(({ name }) =>
      this.#connection.get<{ rows: bigint }>(`SELECT count(*) AS rows FROM ${name}`),
    );
    return counts.reduce((sum, row) => sum + Number(row?.rows), 0);
  }

  async *read(table: CopiedTable): AsyncGenerator<CopiedRow[]> {
    try {
      yield* readRows(this.#connection, table);
    } catch (error) {
      throw toCopyError(error, this.shown);
    }
  }

  async readHead(): Promise<StoreHead> {
    return readHead(this.#connection);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#connection.close();
    this.#lock.release();
  }
}
