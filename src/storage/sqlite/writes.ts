import type { Connection } from "./connection.ts";
import { revokeKey, rotateKey, unbanKey, updateKey } from "./key-changes.ts";
import { createKey } from "./keys.ts";
import { recordBackup } from "./last-backup.ts";
import { saveUsage } from "./usage.ts";

/**
 * What the writing thread can be asked to do, besides stock updates. Each is atomic by itself, or made so, because a
 * group of them shares one transaction.
 */
export const writes = {
  createKey,
  rotateKey,
  revokeKey,
  unbanKey,
  updateKey,
  saveUsage,
  recordBackup,
  externalChangeToken,
};

export type Writes = typeof writes;

/** What a write takes besides the connection. */
export type WriteArgs<Name extends keyof Writes> =
  Parameters<Writes[Name]> extends [Connection, ...infer Rest] ? Rest : never;

/** One thing to do, as it is sent to the thread. */
export interface Write {
  readonly name: keyof Writes;
  readonly args: readonly unknown[];
}

/** What has become of one write, as it is sent back. */
export type Outcome = { readonly value: unknown } | Failure;

/** Why it has not been done. `isMediumFailure` is told here, since errors lose their class between threads. */
export interface Failure {
  readonly error: Error;
  readonly isMediumFailure: boolean;
}

/** SQLite's `data_version`: it changes when another connection than this one has committed. */
function externalChangeToken(connection: Connection): number {
  return Number(connection.pragma("data_version"));
}
