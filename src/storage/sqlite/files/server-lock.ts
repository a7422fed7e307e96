import { randomUUID } from "node:crypto";
import { Connection } from "../connection.ts";
import { resolveDatabase, resolveStore, toStoreFileError } from "../database.ts";
import { isBusy } from "../driver-error.ts";
import { lockFileOf } from "./sidecar-files.ts";

/** Another process serves this store already. */
export class StoreHeldError extends Error {
  override readonly name = "StoreHeldError";
  /** The process id of the one that does. */
  readonly pid: number;

  constructor(file: string, pid: number) {
    super(`${file}: already served by process ${pid}`);
    this.pid = pid;
  }
}

/** The right to serve a store, which one process has at a time. */
export interface ServerLock {
  release(): void;
}

/**
 * Takes the right to serve a store, by whatever path it is named. The system gives it back when the process ends, in
 * whatever way. Throws `StoreHeldError` and `StoreFileError`.
 *
 * The lock is SQLite's own, on a small file beside the store, which is never removed: whoever has a write transaction
 * open on it is the server. The holder is written down and committed before that, since others see only what is
 * committed; another one may come in between, so that it is done again until the holder that stands there is oneself.
 */
export function acquireServerLock(file: string): ServerLock {
  const path = resolveDatabase(lockFileOf(resolveStore(file, "create")), "create");
  try {
    return lock(path, file);
  } catch (error) {
    throw error instanceof StoreHeldError ? error : toStoreFileError(error, path);
  }
}

function lock(path: string, file: string): ServerLock {
  const connection = new Connection(path, { busyTimeoutMs: 100 });
  try {
    hold(connection, file);
  } catch (error) {
    connection.close();
    throw error;
  }
  return { release: () => connection.close() };
}

function hold(connection: Connection, file: string): void {
  const token = randomUUID();
  for (;;) {
    if (!begin(connection)) {
      const holder = readHolder(connection);
      if (holder?.token !== token) {
        throw new StoreHeldError(file, Number(holder?.pid ?? 0));
      }
    } else if (readHolder(connection)?.token === token) {
      return;
    } else {
      writeHolder(connection, token);
      connection.run("COMMIT");
    }
  }
}

/** Whether the write lock could be had. */
function begin(connection: Connection): boolean {
  try {
    connection.run("BEGIN IMMEDIATE");
    return true;
  } catch (error) {
    if (isBusy(error)) {
      return false;
    }
    throw error;
  }
}

interface HolderRow {
  readonly pid: bigint;
  readonly token: string;
}

function readHolder(connection: Connection): HolderRow | undefined {
  const exists = connection.get("SELECT 1 FROM sqlite_schema WHERE name = 'holder'") !== undefined;
  return exists ? connection.get<HolderRow>("SELECT pid, token FROM holder") : undefined;
}

function writeHolder(connection: Connection, token: string): void {
  connection.execute("CREATE TABLE IF NOT EXISTS holder (pid INTEGER, token TEXT) STRICT; DELETE FROM holder");
  connection.run("INSERT INTO holder (pid, token) VALUES (?, ?)", BigInt(process.pid), token);
}
