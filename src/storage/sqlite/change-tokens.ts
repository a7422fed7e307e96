import type { ChangeTokens, ChangeTopic } from "../../domain/store.ts";
import type { Connection } from "./connection.ts";

/** The counters: one for each topic, and `others` for what no cache depends on, such as holds. */
export type ChangeCounter = ChangeTopic | "others";

interface CountersRow {
  readonly keys: bigint;
  readonly stock: bigint;
  readonly usage: bigint;
  readonly webhooks: bigint;
  readonly others: bigint;
  readonly head: bigint;
  readonly lineage: string;
}

/** Counts a write, in the transaction that makes it. Changes of stock need no counter: the history numbers them. */
export function countChange(connection: Connection, counter: ChangeCounter): void {
  connection.run(`UPDATE change_counters SET "${counter}" = "${counter}" + 1`);
}

/**
 * Tells the changes of others from those that one connection has made. The tokens are the stored counters, less the
 * connection's own changes.
 */
export class ChangeTracker {
  readonly #connection: Connection;
  readonly #own: Record<ChangeCounter, number> = { keys: 0, stock: 0, usage: 0, webhooks: 0, others: 0 };
  /** SQLite's `data_version`: it changes when another connection has committed anything. */
  #version: bigint | undefined;
  #lineage: string | undefined;
  #counted = 0;
  #uncounted = 0;

  constructor(connection: Connection) {
    this.#connection = connection;
  }

  /** Adds what this connection has counted and committed, and how many changes it has added to the history. */
  addOwn(counters: Iterable<ChangeCounter>, stockChanges: number): void {
    for (const counter of counters) {
      this.#own[counter] += 1;
    }
    this.#own.stock += stockChanges;
  }

  /** To be called in a transaction, before this connection changes anything in it. */
  tokens(): ChangeTokens {
    const row = this.#connection.get<CountersRow>(
      `SELECT keys, stock, usage, webhooks, others, lineage, (SELECT ifnull(max(revision), 0) FROM changes) AS head
       FROM change_counters, history`,
    ) as CountersRow;
    const keys = Number(row.keys) - this.#own.keys;
    const stock = Number(row.stock) + Number(row.head) - this.#own.stock;
    const usage = Number(row.usage) - this.#own.usage;
    const webhooks = Number(row.webhooks) - this.#own.webhooks;
    const counted = keys + stock + usage + webhooks + Number(row.others) - this.#own.others;
    const uncounted = this.#findUncounted(row.lineage, counted);
    return {
      keys: keys + uncounted,
      stock: stock + uncounted,
      usage: usage + uncounted,
      webhooks: webhooks + uncounted,
      uncounted,
    };
  }

  /**
   * Counts commits of programs that do not add to the counters, such as SQLite's shell. They may have changed anything.
   * One that puts an older store into the file, or another store, takes counters back, or brings another lineage.
   */
  #findUncounted(lineage: string, counted: number): number {
    const version = this.#connection.pragma("data_version") as bigint;
    const isPutBack = lineage !== this.#lineage || counted < this.#counted;
    if (this.#version !== undefined && version !== this.#version && (isPutBack || counted === this.#counted)) {
      this.#uncounted += 1;
    }
    this.#version = version;
    this.#lineage = lineage;
    this.#counted = counted;
    return this.#uncounted;
  }
}
