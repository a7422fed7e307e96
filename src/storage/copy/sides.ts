import type { CopiedRow, CopiedTable, StoreHead } from "./tables.ts";

/*
 * The errors of both sides name their store, and are one line for the operator: `StoreFileError` of a file,
 * `DatabaseError` of a database.
 */

/** A store, as of one moment. To dispose of it leaves it as it was, unless it was committed. */
export interface CopySide extends AsyncDisposable {
  /** The store's name, without any password. */
  readonly shown: string;
  /** Tells whether two names lead to the same store. Undefined for a file that there is not yet. */
  readonly identity: string | undefined;
  /** The rows of a table by ascending key, some at a time. */
  read(table: CopiedTable): AsyncIterable<readonly CopiedRow[]>;
  readHead(): Promise<StoreHead>;
}

/** The store that is copied. Nobody can write to it meanwhile. */
export interface CopySource extends CopySide {
  /** How many rows all tables have. */
  countRows(): Promise<number>;
}

/** The store that is made, in one transaction. */
export interface CopyTarget extends CopySide {
  /** Makes the tables where they are missing. Throws for a store that is not empty, or that a server uses. */
  begin(): Promise<void>;
  /** Writes the rows of a table. An error of `pieces` is thrown on. */
  write(table: CopiedTable, pieces: AsyncIterable<readonly CopiedRow[]>): Promise<void>;
  /** Writes the head, and what follows from the rows. It comes after the last table. */
  finish(head: StoreHead): Promise<void>;
  /** Makes the copy durable. */
  commit(): Promise<void>;
}
