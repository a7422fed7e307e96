import type { StockCommand, StockEntry } from "../../../domain/stock.ts";
import type { ChangeTokens, CommittedChanges, CommittedGroup, WriteContext, Written } from "../../../domain/store.ts";
import type { ChangeCounter } from "../change-tokens.ts";
import type { Connection } from "../connection.ts";
import { deleteOutdated } from "../history.ts";
import { commitHold, createHold, releaseHold } from "../holds.ts";
import { createKey, revokeKey, rotateKey, saveUsage, unbanKey, updateKey } from "../keys.ts";
import {
  createWebhook,
  deleteWebhook,
  pauseWebhook,
  resumeWebhook,
  rotateWebhookSecret,
  saveProgress,
} from "../webhooks.ts";
import type { Failure, WriteOutcome } from "./outcome.ts";
import { changeStockInBatch, changeStockOrThrow } from "./stock-commands.ts";

/** The writes of callers. Their last argument is a `WriteContext`. */
const writesOfCallers = { changeStockOrThrow, changeStockInBatch, createHold, commitHold, releaseHold };

/**
 * The writes that the writer thread can do, besides commands. Each write is atomic by itself, because the writes of a
 * group share one transaction.
 */
export const writes = {
  ...writesOfCallers,
  createKey,
  rotateKey,
  revokeKey,
  unbanKey,
  updateKey,
  saveUsage,
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

/** Whether a task is a caller's write. A server saves usage all the time, for one. */
export function isOfCaller({ name }: Task): boolean {
  return name in writesOfCallers;
}

/** The arguments of a write, which happens no earlier than `leastMs`. */
export function datedArgs(name: keyof Writes, args: readonly unknown[], leastMs: number): readonly unknown[] {
  return name in writesOfCallers ? [...args.slice(0, -1), dated(args.at(-1) as WriteContext, leastMs)] : args;
}

/** The context of a write that happens no earlier than `leastMs`. */
export function dated(context: WriteContext, leastMs: number): WriteContext {
  return context.nowMs < leastMs ? { ...context, nowMs: leastMs } : context;
}

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
  readonly commandOutcomes: readonly WriteOutcome[];
  readonly tasks: readonly WriteOutcome[];
  /** The pets that tasks have changed, in the order of the changes, which come after those of the commands. */
  readonly petIds: BigInt64Array;
}

/** Nothing of the group has been done. */
export interface FailedGroup {
  readonly failure: Failure;
  readonly commandCount: number;
  readonly taskCount: number;
}
