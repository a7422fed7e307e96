import type { ErrorCode } from "../../../domain/errors.ts";
import type { ChangeTokens, ChangeTopic, CommittedGroup } from "../../../domain/store.ts";
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
import { changeStockInBatch, changeStockOrThrow } from "./stock-commands.ts";

/**
 * What the writer thread can be asked to do, besides commands. Each write is atomic by itself, because a group of them
 * shares one transaction.
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

/** The counter that each write adds to, even where it changes nothing. The history numbers the changes of stock. */
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

/** The result of one task, as it is sent back. */
export type Outcome = { readonly value: unknown } | Refusal | Failure;

/** A domain error, which would lose its class between threads. */
export interface Refusal {
  readonly refusal: { readonly code: ErrorCode; readonly message: string };
}

/** Why a task has failed. Errors lose their class between threads: so `isMediumFailure` stands beside. */
export interface Failure {
  readonly error: Error;
  readonly isMediumFailure: boolean;
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
  /** That of the last change. Without meaning where the group has changed no stock. */
  readonly revision: number;
  /** The lineage of the history. */
  readonly lineage: string;
  readonly others?: OtherOutcomes | undefined;
}

/** What most groups lack. */
export interface OtherOutcomes {
  /** Those of the commands whose answers do not fit into the queue, in their order. */
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
 * Tells the changes of others from those that one connection has made. Its tokens are the stored counters, less its own
 * changes.
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
