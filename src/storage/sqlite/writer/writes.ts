import type { ErrorCode } from "../../../domain/errors.ts";
import type { CommittedGroup } from "../../../domain/store.ts";
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
import type { ChangeCounter } from "./change-counters.ts";
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
