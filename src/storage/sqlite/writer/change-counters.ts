import type { ChangeTokens, ChangeTopic } from "../../../domain/store.ts";
import type { Connection } from "../connection.ts";

interface CountersRow {
  readonly keys: bigint;
  readonly stock: bigint;
  readonly usage: bigint;
}

/** Counts a change of a topic, in the transaction that makes it. */
export function countChange(connection: Connection, topic: ChangeTopic): void {
  connection.run(`UPDATE change_counters SET "${topic}" = "${topic}" + 1`);
}

/**
 * Tells the changes of others from those that one connection has made. Its tokens are the stored counters, less its own
 * changes.
 */
export class ChangeTracker {
  readonly #connection: Connection;
  readonly #own: Record<ChangeTopic, number> = { keys: 0, stock: 0, usage: 0 };
  /** SQLite's `data_version`: it changes when another connection has committed anything. */
  #version: bigint | undefined;
  #counted = 0;
  #uncounted = 0;

  constructor(connection: Connection) {
    this.#connection = connection;
  }

  /** Adds the changes that this connection has committed. */
  addOwn(topics: Iterable<ChangeTopic>): void {
    for (const topic of topics) {
      this.#own[topic] += 1;
    }
  }

  /** To be called in a transaction. */
  tokens(): ChangeTokens {
    const row = this.#connection.get<CountersRow>(`SELECT keys, stock, usage FROM change_counters`) as CountersRow;
    const keys = Number(row.keys) - this.#own.keys;
    const stock = Number(row.stock) - this.#own.stock;
    const usage = Number(row.usage) - this.#own.usage;
    const uncounted = this.#findUncounted(keys + stock + usage);
    return { keys: keys + uncounted, stock: stock + uncounted, usage: usage + uncounted };
  }

  /** Counts commits by other programs, such as SQLite's shell, which count no change: they may have changed anything. */
  #findUncounted(counted: number): number {
    const version = this.#connection.pragma("data_version") as bigint;
    if (this.#version !== undefined && version !== this.#version && counted === this.#counted) {
      this.#uncounted += 1;
    }
    this.#version = version;
    this.#counted = counted;
    return this.#uncounted;
  }
}
