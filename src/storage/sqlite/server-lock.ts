import { randomUUID } from "node:crypto";
import { chownSync, statSync } from "node:fs";
import { Connection, type ConnectionOptions, isBusy } from "./connection.ts";
import {
  lockFileOf,
  resolveDatabase,
  resolveStore,
  StoreFileError,
  startLockFileOf,
  toStoreFileError,
} from "./store-file.ts";

/** Another process serves this store. */
export class StoreHeldError extends Error {
  override readonly name = "StoreHeldError";
  /** The id of that process. */
  readonly pid: number;

  constructor(file: string, pid: number) {
    super(`${file}: already served by process ${pid}`);
    this.pid = pid;
  }
}

/** The right to serve a store. One process has it at a time. */
export interface ServerLock {
  release(): void;
}

/**
 * Takes the right to serve a store, by any of its paths. The system releases it when the process ends, however that
 * happens. Throws `StoreHeldError` and `StoreFileError`.
 *
 * The lock is an open write transaction on a small database beside the store, which is never removed. The process first
 * commits its id there, since others see only what is committed. A second lock, on another such database, lets processes
 * take both steps one after another. So the id that a refused process reads is that of the holder.
 */
export function acquireServerLock(file: string): ServerLock {
  const store = resolveStore(file, "create");
  const turn = openLockFile(startLockFileOf(store), store, (connection) => connection.run("BEGIN IMMEDIATE"));
  try {
    const connection = openLockFile(lockFileOf(store), store, (each) => hold(each, file), { busyTimeoutMs: 100 });
    return { release: () => connection.close() };
  } finally {
    turn.close();
  }
}

/**
 * As `acquireServerLock`, to keep servers from using a store. Throws `StoreFileError` while one uses it, whose message
 * has this ending.
 */
export function lockUnserved(file: string, ending: string): ServerLock {
  try {
    return acquireServerLock(file);
  } catch (error) {
    throw error instanceof StoreHeldError
      ? new StoreFileError(`${file}: process ${error.pid} serves it${ending}`, { cause: error })
      : error;
  }
}

/**
 * Opens a lock file of a store, which is created if it is missing, and takes its lock. Throws `StoreHeldError` and
 * `StoreFileError`.
 */
function openLockFile(
  file: string,
  store: string,
  take: (connection: Connection) => void,
  options?: ConnectionOptions,
): Connection {
  const path = resolveDatabase(file, "create");
  let connection: Connection | undefined;
  try {
    giveToOwnerOf(store, path);
    connection = new Connection(path, options);
    take(connection);
    return connection;
  } catch (error) {
    connection?.close();
    throw error instanceof StoreHeldError ? error : toStoreFileError(error, path);
  }
}

/**
 * A command that root runs may be the first to take the lock. The store's owner must still be able to take it after
 * that. SQLite does the same with its own files.
 */
function giveToOwnerOf(store: string, path: string): void {
  const { uid, gid } = statSync(store);
  if (process.geteuid?.() === 0 && statSync(path).uid !== uid) {
    chownSync(path, uid, gid);
  }
}

/** The steps repeat because a process of an earlier version does not wait for its turn, and may commit its own id. */
function hold(connection: Connection, file: string): void {
  const token = randomUUID();
  for (;;) {
    if (!begin(connection)) {
      const holder = readHolder(connection);
      if (holder !== undefined && holder.token !== token) {
        throw new StoreHeldError(file, Number(holder.pid));
      }
    } else if (readHolder(connection)?.token === token) {
      return;
    } else {
      writeHolder(connection, token);
      connection.run("COMMIT");
    }
  }
}

/** Opens the write transaction. Returns false where another process has it. */
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
