import { nextTick } from "node:process";
import { type Connection, fromDriverError } from "./connection.ts";
import { unappliedOf } from "./unapplied-changes.ts";

/**
 * Reads over a connection. Reads of one turn of the event loop share a transaction, as it costs more than a small read:
 * the file is locked and unlocked. None of them misses a write that it should see. Whoever asks in this turn asked
 * before the first read: requests and other threads' messages arrive between turns.
 */
export class TurnReads {
  readonly #connection: Connection;
  #isBegun = false;

  constructor(connection: Connection) {
    this.#connection = connection;
  }

  /** Throws `UNAVAILABLE` when the medium fails. */
  read<T>(work: (connection: Connection) => T): T {
    try {
      if (!this.#isBegun) {
        this.#begin();
      }
      return work(this.#connection);
    } catch (error) {
      throw fromDriverError(error);
    }
  }

  /** Lets the reads that follow see what was written in this turn. */
  end(): void {
    this.#isBegun = false;
    try {
      this.#commit();
    } catch {
      // After a damaged page SQLite throws even here. If the transaction is still open, the next read fails by it.
    }
  }

  #begin(): void {
    this.#commit();
    this.#connection.run("BEGIN");
    unappliedOf(this.#connection).expire();
    this.#isBegun = true;
    nextTick(() => this.end());
  }

  #commit(): void {
    if (this.#connection.inTransaction) {
      this.#connection.run("COMMIT");
    }
  }
}
