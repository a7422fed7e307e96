import { nextTick } from "node:process";
import { type Connection, fromDriverError } from "./connection.ts";

/**
 * Reads over a connection. Reads of one turn of the event loop share a transaction, as it costs more than a small read:
 * the file is locked and unlocked. None of them misses a write that it should see. Whoever asks in this turn asked
 * before the first read: requests and other threads' messages arrive between turns.
 */
export class TurnReads {
  readonly #connection: Connection;

  constructor(connection: Connection) {
    this.#connection = connection;
  }

  /** Throws `UNAVAILABLE` when the medium fails. */
  read<T>(work: (connection: Connection) => T): T {
    const connection = this.#connection;
    try {
      if (!connection.inTransaction) {
        connection.run("BEGIN");
        nextTick(() => this.end());
      }
      return work(connection);
    } catch (error) {
      throw fromDriverError(error);
    }
  }

  /** Lets the reads that follow see what was written in this turn. */
  end(): void {
    // An error may have ended the transaction.
    if (this.#connection.inTransaction) {
      this.#connection.run("COMMIT");
    }
  }
}
