import type { ChangeTopic } from "../../../domain/store.ts";
import type { Connection } from "../connection.ts";
import { revokeKey, rotateKey, unbanKey, updateKey } from "../key-changes.ts";
import { createKey } from "../keys.ts";
import { saveUsage } from "../usage.ts";

/**
 * What the writing thread can be asked to do, besides stock updates. Each write is atomic by itself, because a group of
 * them shares one transaction.
 */
export const writes = { createKey, rotateKey, revokeKey, unbanKey, updateKey, saveUsage };

/** What each write changes. */
export const writeTopics: Readonly<Record<keyof Writes, ChangeTopic>> = {
  createKey: "keys",
  rotateKey: "keys",
  revokeKey: "keys",
  unbanKey: "keys",
  updateKey: "keys",
  saveUsage: "usage",
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
export type Outcome = { readonly value: unknown } | Failure;

/** Why a task has failed. Errors lose their class between threads: so `isMediumFailure` stands beside. */
export interface Failure {
  readonly error: Error;
  readonly isMediumFailure: boolean;
}
