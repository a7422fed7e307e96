import { randomUUID } from "node:crypto";
import { Connection, isBusy } from "./connection.ts";
import { lockFileOf, resolveDatabase, resolveStore, StoreFileError, toStoreFileError } from "./store-file.ts";

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
 * commits its id there, since others see only what is committed. Another process may commit its own id in between. So
 * the two steps repeat until the transaction is open and the id is the process's own.
 */
export function acquireServerLock(file: string): ServerLock {
  const path = resolveDatabase(lockFileOf(resolveStore(file, "create")), "create");
  try {
    return lock(path, file);
  } catch (error) {
    throw error instanceof StoreHeldError ? error : toStoreFileError(error, path);
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
      ? new StoreFileError(`${file}: process ${error.pid} serves it${ending}`)
      : error;
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
  let suspected: string | undefined;
  for (;;) {
    if (!begin(connection)) {
      const holder = readHolder(connection);
      // A process that is about to commit its id has the transaction open, too. The file then names an earlier process.
      // So the lock counts as held only when two reads in a row find the same holder.
      if (holder !== undefined && holder.token !== token && holder.token === suspected) {
        throw new StoreHeldError(file, Number(holder.pid));
      }
      suspected = holder?.token;
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
