import { realpathSync, rmSync, statSync } from "node:fs";
import { dirname } from "node:path";
import {
  type ColumnType,
  type CopiedRow,
  type CopiedTable,
  type CopiedValue,
  type CopySource,
  type CopyTarget,
  copiedTables,
  type StoreHead,
} from "../copy.ts";
import {
  type Connection,
  DamagedRowError,
  isBusy,
  isDriverError,
  readInteger,
  readStringArray,
  type Value,
} from "./connection.ts";
import { assertUsable, openDatabase } from "./database.ts";
import { hasOlderSchema, migrate } from "./migrations.ts";
import { lockUnserved, type ServerLock, StoreHeldError } from "./server-lock.ts";
import { changesPerMark, markApplied } from "./stock.ts";
import {
  assertSyncable,
  createIfMissing,
  identityOf,
  resolveStore,
  StoreFileError,
  syncFolder,
  toStoreFileError,
} from "./store-file.ts";

/**
 * Opens the store in a file, to copy it. Until the source is disposed of, no server can begin to use the store, and
 * other writers fail after the 5 s of the busy timeout. Throws `StoreFileError` while a server uses the store, and for
 * a file that is no store of this version.
 */
export function openSqliteSource(file: string): CopySource {
  using opened = new DisposableStack();
  try {
    const path = resolveStore(file, "refuse");
    const connection = openDatabase(path);
    opened.defer(() => connection.close());
    assertCopyable(connection, file);
    const lock = lockUnserved(file, "; end that server first: what it writes from now on would be missing in the copy");
    opened.defer(() => lock.release());
    // Nobody else can write from here on. This transaction writes nothing either.
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

/** The columns that `linkChanges` derives from the changes, once all changes are copied. */
const derived: Readonly<Record<string, readonly string[]>> = { stock: ["changes"], changes: ["previous", "number"] };

/**
 * The store that a copy makes in a file. The file may be missing, empty, or a store with nothing in it. A crash before
 * the commit leaves the store as it was.
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
      const isOwn = createIfMissing(file);
      const lock = lockTarget(file, isOwn);
      const path = realpathSync(file);
      this.#held.defer(() => lock.release());
      const connection = openDatabase(path);
      this.#held.defer(() => connection.close());
      assertUsable(connection, file);
      assertEmpty(connection, file);
      beginAlone(connection);
      if (isOwn && statSync(path).size === 0) {
        // No command has made a store there, and none can before the connection is closed.
        const made = identityOf(path);
        this.#held.defer(() => this.#isCommitted || removeOwn(path, made));
      }
      assertSyncable(dirname(path));
      // Again: a command may have written in between.
      assertEmpty(connection, file);
      if (assertUsable(connection, file) === "empty" || hasOlderSchema(connection)) {
        migrate(connection);
      }
      this.#connection = connection;
    } catch (error) {
      throw toStoreFileError(toCopyError(error, file), file);
    }
  }

  async write(table: CopiedTable, pieces: AsyncIterable<readonly CopiedRow[]>): Promise<void> {
    const insert = insertSql(table, derived[table.name]);
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

  /** Closing the connection rolls back what was not committed. */
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

/** Removes the target, unless another file has taken its name. What prevents the removal is less than why it is tried. */
function removeOwn(path: string, made: string | undefined): void {
  try {
    if (identityOf(path) === made) {
      rmSync(path);
    }
  } catch {
    // It stays, and is rolled back.
  }
}

/**
 * Takes the lock of a target. If it fails it leaves no file that this process has made, unless another process may be
 * beginning to use that: a server takes its lock before it writes to the file.
 */
function lockTarget(file: string, isOwn: boolean): ServerLock {
  try {
    return lockUnserved(file, "; end that server first");
  } catch (error) {
    const { cause } = error as Error;
    const mayBeUsed = cause instanceof StoreHeldError || isBusy(cause);
    if (isOwn && !mayBeUsed && statSync(file, { throwIfNoEntry: false })?.size === 0) {
      rmSync(file);
    }
    throw error;
  }
}

/**
 * Opens a transaction that keeps everybody else out. With a rollback journal the rows of a new store are written once,
 * because the journal has only pages that existed before. The deletion of the journal is the commit, and `EXTRA` makes
 * it durable. Source: https://sqlite.org/pragma.html#pragma_synchronous
 */
function beginAlone(connection: Connection): void {
  connection.pragma("journal_mode = DELETE");
  connection.pragma("synchronous = EXTRA");
  // In KiB. Random ids are written to pages all over their indexes.
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
    throw new StoreFileError(`${file}: the store already has ${names}; name a new file to copy to`);
  }
}

function writeHead(connection: Connection, { lineage, holdPosition }: StoreHead): void {
  connection.run(`UPDATE history SET lineage = ?`, lineage);
  // Source: https://sqlite.org/autoinc.html
  connection.run(`DELETE FROM sqlite_sequence WHERE name = 'holds'`);
  connection.run(`INSERT INTO sqlite_sequence (name, seq) VALUES ('holds', ?)`, holdPosition);
}

/**
 * Derives data from the changes: for each change the pet's previous change and the change's number, for each pet its
 * marks and its number of changes. If the oldest changes of a pet were deleted, the first one that is left counts as
 * its first.
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

/** How many rows are read at once. */
const rowsPerPiece = 1_000;

/** Reads the rows of a table by ascending key. The connection is busy until the last one. Throws `DamagedRowError`. */
function* readRows(connection: Connection, { name, key, columns }: CopiedTable): Generator<CopiedRow[]> {
  const source = name === "stock" ? "current_stock" : name;
  const sql = `SELECT ${Object.keys(columns).join(", ")} FROM ${source} ORDER BY ${key.join(", ")}`;
  let piece: CopiedRow[] = [];
  for (const row of connection.iterate<Record<string, Value>>(sql)) {
    piece.push(Object.entries(columns).map(([column, type]) => fromColumn(row[column] ?? null, type)));
    if (piece.length === rowsPerPiece) {
      yield piece;
      piece = [];
    }
  }
  yield piece;
}

/** The statement that inserts a row: the values of the table's columns, and 0 for those that are derived later. */
function insertSql({ name, columns }: CopiedTable, derived: readonly string[] = []): string {
  const names = [...Object.keys(columns), ...derived];
  const values = [...Object.keys(columns).map(() => "?"), ...derived.map(() => "0")];
  return `INSERT INTO ${name} (${names.join(", ")}) VALUES (${values.join(", ")})`;
}

function fromColumn(value: Value, type: ColumnType): CopiedValue {
  if (value === null) {
    return null;
  }
  switch (type) {
    case "integer":
      return readInteger(value);
    case "boolean":
      return readInteger(value) !== 0n;
    case "text":
      return String(value);
    case "bytes":
      return value as Uint8Array;
    case "texts":
      return readStringArray(String(value));
    case "integers":
      return readStringArray(String(value)).map(BigInt);
  }
}

/** Writes a value as SQLite keeps it: a list as JSON, whose integers are texts. */
function toColumn(value: CopiedValue): Value {
  if (typeof value === "boolean") {
    return value ? 1n : 0n;
  }
  return Array.isArray(value) ? JSON.stringify(value.map(String)) : (value as Value);
}

/** Reads the lineage of the history, and the position of the newest hold. */
function readHead(connection: Connection): StoreHead {
  return connection.get<StoreHead>(
    `SELECT lineage, ifnull((SELECT seq FROM sqlite_sequence WHERE name = 'holds'), 0) AS holdPosition FROM history`,
  ) as StoreHead;
}

/** Turns an error of the driver, or of a damaged row, into a line for the operator. Returns other errors as they are. */
function toCopyError(error: unknown, file: string): unknown {
  if (isBusy(error)) {
    return new StoreFileError(`${file}: another process uses it; try again when that has ended`, { cause: error });
  }
  if (error instanceof DamagedRowError) {
    return new StoreFileError(`${file}: it is not sound: ${error.message}; 'petstore check' tells more`, {
      cause: error,
    });
  }
  return isDriverError(error) ? toStoreFileError(error, file) : error;
}
