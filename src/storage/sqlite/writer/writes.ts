import type { StockCommand, StockEntry } from "../../../domain/stock.ts";
import type {
  ChangeTokens,
  ChangeTopic,
  CommittedChanges,
  CommittedGroup,
  WriteContext,
  Written,
} from "../../../domain/store.ts";
import type { Connection } from "../connection.ts";
import { deleteOutdated } from "../history.ts";
import { commitHold, createHold, releaseHold } from "../holds.ts";
import { createKey, revokeKey, rotateKey, unbanKey, updateKey } from "../keys.ts";
import { saveUsage } from "../usage.ts";
import {
  createWebhook,
  deleteWebhook,
  pauseWebhook,
  resumeWebhook,
  rotateWebhookSecret,
  saveProgress,
} from "../webhooks.ts";
import type { Failure, Outcome } from "./outcome.ts";
import { changeStockInBatch, changeStockOrThrow } from "./stock-commands.ts";

/**
 * The writes that the writer thread can do, besides commands. Each write is atomic by itself, because the writes of a
 * group share one transaction.
 */
export const writes = {
  createKey,
  rotateKey,
  revokeKey,
  unbanKey,
  updateKey,
  saveUsage,
  changeStockOrThrow,
  changeStockInBatch,
  createHold,
  commitHold,
  releaseHold,
  deleteOutdated,
  createWebhook,
  deleteWebhook,
  pauseWebhook,
  resumeWebhook,
  rotateWebhookSecret,
  saveProgress,
};

/**
 * The counter that each write adds to, even where it changes nothing. Changes of stock need none: the history numbers
 * them.
 */
export const writeCounters: Readonly<Record<keyof Writes, ChangeCounter>> = {
  createKey: "keys",
  rotateKey: "keys",
  revokeKey: "keys",
  unbanKey: "keys",
  updateKey: "keys",
  saveUsage: "usage",
  changeStockOrThrow: "others",
  changeStockInBatch: "others",
  createHold: "others",
  commitHold: "others",
  releaseHold: "others",
  deleteOutdated: "others",
  createWebhook: "webhooks",
  deleteWebhook: "webhooks",
  pauseWebhook: "webhooks",
  resumeWebhook: "webhooks",
  rotateWebhookSecret: "webhooks",
  saveProgress: "others",
};

export type Writes = typeof writes;

/** The arguments of a write besides the connection. */
export type WriteArgs<Name extends keyof Writes> =
  Parameters<Writes[Name]> extends [Connection, ...infer Rest] ? Rest : never;

/** One task as it is sent to the thread: a write, or the question for the change tokens. */
export type Task =
  | { readonly name: keyof Writes; readonly args: readonly unknown[] }
  | { readonly name: "changeTokens" };

/** Does the writes of a store. A promise resolves when its write is on disk. It may reject with `UNAVAILABLE`. */
export interface StoreWriter {
  /** Hears of all changes of the stock, in the order of their revisions. */
  onChanges(listener: (changes: CommittedChanges) => void): void;
  /** Does a command for one stock entry. Rejects with the errors of `StockStore.changeStock`. */
  changeStock(command: StockCommand, context: WriteContext): Promise<Written<StockEntry>>;
  /** Does any other write. */
  run<Name extends keyof Writes>(name: Name, ...args: WriteArgs<Name>): Promise<ReturnType<Writes[Name]>>;
  /** Reads the change tokens after all writes that were asked for before. */
  changeTokens(): Promise<ChangeTokens>;
  /** Ends once all that was asked for has been done. */
  close(): Promise<void>;
}

/** The result of a group, as the writing thread tells it. */
export type GroupOutcome = CommittedWrites | FailedGroup;

/**
 * The queue's memory has the answers to the commands, so the message of most groups is a few numbers. `size` counts the
 * commands and writes of the group: only they change anything.
 */
export interface CommittedWrites extends CommittedGroup {
  /** How many commands are answered. */
  readonly commandCount: number;
  /** The revision of the last change. It has no meaning where the group has changed no stock. */
  readonly revision: number;
  /** The lineage of the history. */
  readonly lineage: string;
  readonly others?: OtherOutcomes | undefined;
}

/** Outcomes that most groups do not have. */
export interface OtherOutcomes {
  /** The outcomes of the commands whose answers do not fit into the queue, in their order. */
  readonly commandOutcomes: readonly Outcome[];
  readonly tasks: readonly Outcome[];
  /** The pets that tasks have changed, in the order of the changes, which come after those of the commands. */
  readonly petIds: readonly bigint[];
}

/** Nothing of the group has been done. */
export interface FailedGroup {
  readonly failure: Failure;
  readonly commandCount: number;
  readonly taskCount: number;
}

/** The counters: one for each topic, and `others` for what no cache depends on, such as holds. */
export type ChangeCounter = ChangeTopic | "others";

interface CountersRow {
  readonly keys: bigint;
  readonly stock: bigint;
  readonly usage: bigint;
  readonly webhooks: bigint;
  readonly others: bigint;
  readonly head: bigint;
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

  /** To be called in a transaction. */
  tokens(): ChangeTokens {
    const row = this.#connection.get<CountersRow>(
      `SELECT keys, stock, usage, webhooks, others, (SELECT ifnull(max(revision), 0) FROM changes) AS head
       FROM change_counters`,
    ) as CountersRow;
    const keys = Number(row.keys) - this.#own.keys;
    const stock = Number(row.stock) + Number(row.head) - this.#own.stock;
    const usage = Number(row.usage) - this.#own.usage;
    const webhooks = Number(row.webhooks) - this.#own.webhooks;
    const uncounted = this.#findUncounted(keys + stock + usage + webhooks + Number(row.others) - this.#own.others);
    return {
      keys: keys + uncounted,
      stock: stock + uncounted,
      usage: usage + uncounted,
      webhooks: webhooks + uncounted,
    };
  }

  /**
   * Counts commits of programs that do not add to the counters, such as SQLite's shell. They may have changed anything.
   */
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
