import { existsSync, realpathSync, rmSync } from "node:fs";
import { dirname } from "node:path";
import type { CopyTarget } from "../../copy/copy-store.ts";
import { type CopiedRow, type CopiedTable, copiedTables, type StoreHead } from "../../copy/tables.ts";
import type { Connection } from "../connection.ts";
import { assertUsable, openDatabase } from "../database.ts";
import { identityOf, StoreFileError, syncFolder, toStoreFileError } from "../files/store-file.ts";
import { hasOlderSchema, migrate } from "../migrations.ts";
import { changesPerMark } from "../stock-writes.ts";
import { markApplied } from "../unapplied-changes.ts";
import { insertSql, lockUnserved, readHead, readRows, toColumn, toCopyError } from "./side.ts";

/** The columns that are made anew from the changes, once all of them are there. */
const madeAnew: Readonly<Record<string, readonly string[]>> = { stock: ["changes"], changes: ["previous", "number"] };

/**
 * The store in a file, to be made by a copy. The file may be missing, empty, or a store with nothing in it. A crash at
 * any moment leaves it as it was.
 */
export class SqliteTarget implements CopyTarget {
  readonly shown: string;
  readonly identity: string | undefined;
  readonly #held = new DisposableStack();
  #connection: Connection | undefined;
  #isCommitted = false;

  constructor(file: string) {
    this.shown = file;
    this.identity = identityOf(file);
  }

  async begin(): Promise<void> {
    const file = this.shown;
    try {
      const wasThere = existsSync(file);
      const lock = lockUnserved(file, "");
      const path = realpathSync(file);
      this.#held.defer(() => {
        if (!wasThere && !this.#isCommitted) {
          rmSync(path, { force: true });
        }
        lock.release();
      });
      const connection = openDatabase(path);
      this.#held.defer(() => connection.close());
      const state = assertUsable(connection, file);
      assertEmpty(connection, file);
      beginAlone(connection);
      if (state === "empty" || hasOlderSchema(connection)) {
        migrate(connection);
      }
      // Again: a command may have written in between.
      assertEmpty(connection, file);
      this.#connection = connection;
    } catch (error) {
      throw toStoreFileError(toCopyError(error, file), file);
    }
  }

  async write(table: CopiedTable, pieces: AsyncIterable<readonly CopiedRow[]>): Promise<void> {
    const insert = insertSql(table, madeAnew[table.name]);
    for await (const rows of pieces) {
      this.#run((connection) => {
        for (const row of rows) {
          connection.run(insert, ...row.map(toColumn));
        }
      });
    }
  }

  async finish(head: StoreHead): Promise<void> {
    this.#run((connection) => {
      writeHead(connection, head);
      linkChanges(connection);
      markApplied(connection);
    });
  }

  async *read(table: CopiedTable): AsyncGenerator<CopiedRow[]> {
    try {
      yield* readRows(this.#begun, table);
    } catch (error) {
      throw toCopyError(error, this.shown);
    }
  }

  async readHead(): Promise<StoreHead> {
    return this.#run(readHead);
  }

  async commit(): Promise<void> {
    this.#run((connection) => connection.run("COMMIT"));
    this.#isCommitted = true;
    syncFolder(dirname(realpathSync(this.shown)));
  }

  /** To close the connection rolls back what was not committed. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#held.dispose();
  }

  get #begun(): Connection {
    if (this.#connection === undefined) {
      throw new Error("the copy has not begun");
    }
    return this.#connection;
  }

  #run<T>(work: (connection: Connection) => T): T {
    try {
      return work(this.#begun);
    } catch (error) {
      throw toCopyError(error, this.shown);
    }
  }
}

/**
 * Opens a transaction that keeps everybody else out. With a rollback journal the rows of a new store are written once:
 * only pages that were there before are in the journal. With `EXTRA` the end of the journal is durable, too, which is
 * the commit. Source: https://sqlite.org/pragma.html#pragma_synchronous
 */
function beginAlone(connection: Connection): void {
  connection.pragma("journal_mode = DELETE");
  connection.pragma("synchronous = EXTRA");
  // In KiB. The indexes of random ids are written to everywhere.
  connection.pragma("cache_size = -64000");
  connection.run("BEGIN EXCLUSIVE");
}

/** Throws `StoreFileError` for a store, of whatever version, that has any rows. */
function assertEmpty(connection: Connection, file: string): void {
  const filled = copiedTables.filter(
    ({ name }) =>
      connection.get(`SELECT 1 FROM sqlite_schema WHERE name = ?`, name) !== undefined &&
      connection.get(`SELECT 1 FROM ${name}`) !== undefined,
  );
  if (filled.length > 0) {
    const names = filled.map(({ name }) => name).join(", ");
    throw new StoreFileError(`${file}: is not empty: it has ${names}; name a new file to copy to`);
  }
}

function writeHead(connection: Connection, { lineage, holdPosition }: StoreHead): void {
  connection.run(`UPDATE history SET lineage = ?`, lineage);
  // Source: https://sqlite.org/autoinc.html
  connection.run(`DELETE FROM sqlite_sequence WHERE name = 'holds'`);
  connection.run(`INSERT INTO sqlite_sequence (name, seq) VALUES ('holds', ?)`, holdPosition);
}

/**
 * Makes the links from each change to the pet's change before, the changes' numbers, the marks that lead into them, and
 * the pets' numbers of changes. Of a pet whose oldest changes were deleted, the first one that is left counts as its first.
 */
function linkChanges(connection: Connection): void {
  connection.run(
    `UPDATE changes SET previous = ifnull(linked.former, 0), number = linked.place
     FROM (SELECT revision AS linked_revision, lag(revision) OVER pet AS former, row_number() OVER pet AS place
           FROM changes WINDOW pet AS (PARTITION BY pet_id ORDER BY revision)) AS linked
     WHERE revision = linked_revision`,
  );
  connection.run(
    `INSERT INTO change_marks (pet_id, revision)
     SELECT pet_id, revision FROM changes WHERE number % ${changesPerMark} = 0`,
  );
  connection.run(
    `UPDATE stock SET changes = counted.number
     FROM (SELECT pet_id AS counted_pet, max(number) AS number FROM changes GROUP BY pet_id) AS counted
     WHERE pet_id = counted_pet`,
  );
  // All changes of these pets were deleted.
  connection.run(`UPDATE stock SET changes = 1 WHERE revision > 0 AND changes = 0`);
}
