import { nextTick } from "node:process";
import { type Connection, fromDriverError } from "./connection.ts";
import { stockCacheOf } from "./stock-cache.ts";

/**
 * Runs reads over a connection. Reads of one turn of the event loop share a transaction, because a transaction locks
 * and unlocks the file, which costs more than a small read. No read misses a write that it should see: requests and
 * other threads' messages arrive between turns, so all reads of a turn were asked for before the first one runs.
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
      // After a damaged page SQLite throws even here. If the transaction is still open, the next read fails, too.
    }
  }

  #begin(): void {
    this.#commit();
    this.#connection.run("BEGIN");
    stockCacheOf(this.#connection).expire();
    this.#isBegun = true;
    nextTick(() => this.end());
  }

  #commit(): void {
    if (this.#connection.inTransaction) {
      this.#connection.run("COMMIT");
    }
  }
}
