import Sqlite from "better-sqlite3";
import { storeUnavailable } from "../../domain/errors.ts";

/** A value of SQLite. Integers are read as bigint, exact over all of int64. */
export type Value = bigint | number | string | Uint8Array | null;

export interface ConnectionOptions {
  /**
   * How long to wait for the lock of another process, in milliseconds; 5,000 by default. For a whole store only tests
   * set it.
   */
  readonly busyTimeoutMs?: number | undefined;
}

const defaultBusyTimeoutMs = 5_000;

/** A connection to a SQLite file. Each statement is prepared once. */
export class Connection {
  readonly #driver: Sqlite.Database;
  readonly #statements = new Map<string, Sqlite.Statement<Value[]>>();
  readonly #transact: Sqlite.Transaction<(work: () => unknown) => unknown>;

  /** Opens an existing file. Throws the driver's errors, as all methods do. */
  constructor(file: string, options: ConnectionOptions = {}) {
    this.#driver = new Sqlite(file, { fileMustExist: true, timeout: options.busyTimeoutMs ?? defaultBusyTimeoutMs });
    this.#driver.defaultSafeIntegers(true);
    this.#transact = this.#driver.transaction((work) => work());
  }

  /** Whether a transaction is open. Some errors, such as a full disk, may roll it back by themselves. */
  get inTransaction(): boolean {
    return this.#driver.inTransaction;
  }

  /** Runs a statement that returns no rows. */
  run(sql: string, ...values: Value[]): void {
    this.#prepare(sql).run(...values);
  }

  all<Row>(sql: string, ...values: Value[]): Row[] {
    return this.#prepare(sql).all(...values) as Row[];
  }

  /**
   * Returns the first row of a query. For reading only: the driver's `get` on an `UPDATE … RETURNING` outside a
   * transaction blocks all checkpoints of the write-ahead log.
   */
  get<Row>(sql: string, ...values: Value[]): Row | undefined {
    return this.#prepare(sql).get(...values) as Row | undefined;
  }

  /** Returns the rows one by one. The connection is busy until the iterator has ended. */
  iterate<Row>(sql: string, ...values: Value[]): IterableIterator<Row> {
    return this.#prepare(sql).iterate(...values) as IterableIterator<Row>;
  }

  /** Runs statements once, such as those of a migration. */
  execute(sql: string): void {
    this.#driver.exec(sql);
  }

  /**
   * Replaces a part of a table's definition, such as a CHECK constraint. The rows are not checked, so they must already
   * satisfy the new definition. To be called in a transaction.
   *
   * Source: https://sqlite.org/lang_altertable.html#otheralter
   */
  redefine(table: string, former: string, present: string): void {
    const version = Number(this.pragma("schema_version"));
    this.#driver.unsafeMode(true);
    try {
      this.pragma("writable_schema = ON");
      this.run(`UPDATE sqlite_schema SET sql = replace(sql, ?, ?) WHERE name = ?`, former, present, table);
      this.pragma(`schema_version = ${version + 1}`);
      this.pragma("writable_schema = RESET");
    } finally {
      this.#driver.unsafeMode(false);
    }
  }

  /** Reads or sets a pragma that has one value. */
  pragma(text: string): Value {
    return this.#driver.pragma(text, { simple: true }) as Value;
  }

  /** Runs the work in a transaction; within another transaction, in a savepoint. */
  atomically<T>(work: () => T): T {
    return this.#transact.immediate(work) as T;
  }

  /** Runs reads in one transaction: all of them see the same snapshot, whatever others write meanwhile. */
  inSnapshot<T>(read: () => T): T {
    return this.#transact.deferred(read) as T;
  }

  /**
   * Copies what this connection sees to another file, some pages at a time, so that the event loop goes on. Calls
   * `afterPiece` after each piece with the number of pages that are done, and the total.
   */
  async copyTo(file: string, afterPiece: (done: number, total: number) => void): Promise<void> {
    const progress = ({ totalPages, remainingPages }: Sqlite.BackupMetadata) => {
      afterPiece(totalPages - remainingPages, totalPages);
      return pagesPerPiece;
    };
    await this.#driver.backup(file, { progress });
  }

  close(): void {
    this.#driver.close();
  }

  #prepare(sql: string): Sqlite.Statement<Value[]> {
    let statement = this.#statements.get(sql);
    if (statement === undefined) {
      statement = this.#driver.prepare<Value[]>(sql);
      this.#statements.set(sql, statement);
    }
    return statement;
  }
}

/** About 1 MB: a millisecond of the event loop. */
const pagesPerPiece = 250;

/** The result codes for a failing medium, as opposed to wrong SQL. Source: https://sqlite.org/rescode.html */
const mediumFails =
  /^SQLITE_(BUSY|LOCKED|FULL|IOERR|READONLY|CANTOPEN|CORRUPT|NOTADB|NOMEM|PROTOCOL|PERM|AUTH|NOLFS|INTERRUPT)(_|$)/;

/** Turns an error of the driver into `UNAVAILABLE` when the medium fails or is damaged. Returns other errors as they are. */
export function fromDriverError(error: unknown): unknown {
  return isMediumFailure(error) || error instanceof DamagedRowError ? storeUnavailable(error) : error;
}

/** Whether the driver says that the medium is busy, full or failing. */
export function isMediumFailure(error: unknown): error is Error & { readonly code: string } {
  return isDriverError(error) && mediumFails.test(error.code);
}

/** Whether the driver says that another process has the lock. */
export function isBusy(error: unknown): boolean {
  return isDriverError(error) && /^SQLITE_BUSY(_|$)/.test(error.code);
}

/** Whether an error is one of SQLite's. */
export function isDriverError(error: unknown): error is Error & { readonly code: string } {
  return error instanceof Sqlite.SqliteError;
}

/** A row holds a value that is never written: the file is damaged in a way that SQLite does not notice. */
export class DamagedRowError extends Error {
  override readonly name = "DamagedRowError";
}

/*
 * SQLite checks types and CHECK constraints when it writes, but not when it reads.
 */

/** Throws `DamagedRowError`. */
export function readInteger(value: unknown): bigint {
  if (typeof value !== "bigint") {
    throw new DamagedRowError("a row has no integer in an integer column");
  }
  return value;
}

/** Reads one of the texts that a column may hold, such as a status. Throws `DamagedRowError`. */
export function readEnumText<Word extends string>(value: string, words: readonly Word[]): Word {
  const word = value as Word;
  if (!words.includes(word)) {
    throw new DamagedRowError("a row has a text that its column may not hold");
  }
  return word;
}

/** Reads a list of texts, which is stored as JSON. Throws `DamagedRowError`. */
export function readStringArray(json: string): string[] {
  const texts = parse(json);
  if (!Array.isArray(texts) || !texts.every((text) => typeof text === "string")) {
    throw new DamagedRowError("a row has no list of texts in the column of one");
  }
  return texts;
}

function parse(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    return undefined;
  }
}

/** Asserts the order of rows that were selected by ascending id. Throws `DamagedRowError`. */
export function assertAscending(rows: readonly { readonly id: bigint }[]): void {
  for (let index = 1; index < rows.length; index++) {
    if ((rows[index - 1] as { id: bigint }).id >= (rows[index] as { id: bigint }).id) {
      throw new DamagedRowError("rows are not in the order of their ids");
    }
  }
}
