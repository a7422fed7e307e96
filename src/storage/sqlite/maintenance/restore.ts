import { chmodSync, chownSync, existsSync, linkSync, realpathSync, renameSync, rmSync, statSync } from "node:fs";
import { dirname } from "node:path";
import type { ReportProgress } from "../../../domain/store/store-maintenance.ts";
import { Connection, isBusy, isMediumFailure } from "../connection.ts";
import { acquireServerLock } from "../files/server-lock.ts";
import {
  isSameFile,
  isTaken,
  keptFileOf,
  StoreFileError,
  sqliteSuffixes,
  syncFolder,
  toStoreFileError,
} from "../files/store-file.ts";
import { backUp } from "./backup.ts";
import { checkDatabase, openForReading } from "./check.ts";

/** How long to wait for another process to close the store, in milliseconds. */
const busyTimeoutMs = 1_000;

/**
 * Replaces a store with a copy of a backup, once the copy is known to be sound. Keeps the former store beside it, and
 * returns the name of that; undefined when there was none. A crash at any moment leaves one of the two stores in place,
 * whole.
 *
 * Throws `StoreHeldError` while the store is served. Throws `StoreFileError` while another process uses the store, for
 * a backup that is not sound, and where a store kept by an earlier restore would be lost.
 */
export async function restoreDatabase(
  backup: string,
  file: string,
  report: ReportProgress = () => {},
): Promise<string | undefined> {
  if (isSameFile(backup, file)) {
    throw new StoreFileError(`${backup}: this is the store itself`);
  }
  openForReading(backup).close();
  const wasThere = existsSync(file);
  using undo = new DisposableStack();
  const lock = acquireServerLock(file);
  const path = realpathSync(file);
  if (!wasThere) {
    // The lock has created an empty file.
    undo.defer(() => rmSync(path, { force: true }));
  }
  undo.defer(() => lock.release());
  const keptAs = wasThere ? keptFileOf(path) : undefined;
  if (keptAs !== undefined && isTaken(keptAs)) {
    throw new StoreFileError(`${keptAs}: kept by a former restore; move it away, or remove it, first`);
  }

  const draft = `${path}.${process.pid}.restore`;
  undo.defer(() => rmSync(draft, { force: true }));
  await copySound(backup, draft, report);
  replace(path, draft, keptAs);
  undo.move();
  lock.release();
  return keptAs;
}

/** Copies a backup, and checks the copy. */
async function copySound(backup: string, draft: string, report: ReportProgress): Promise<void> {
  const connection = openForReading(backup);
  try {
    // The copy is half of the work, the check the other half.
    await backUp(connection, draft, (done, total) => report(done, 2 * total));
  } catch (error) {
    throw isMediumFailure(error) ? toStoreFileError(error, draft) : error;
  } finally {
    connection.close();
  }
  const faults = await checkDatabase(draft, "full", (done, total) => report(total + done, 2 * total));
  if (faults.length > 0) {
    const others = faults.length > 1 ? `, and ${faults.length - 1} more` : "";
    throw new StoreFileError(`${backup}: it is not sound: ${faults[0]}${others}`);
  }
}

/** Replaces a store with the draft of another one, in one step. */
function replace(path: string, draft: string, keptAs: string | undefined): void {
  const held = keptAs === undefined ? undefined : keep(path, keptAs);
  try {
    if (keptAs !== undefined) {
      takeOwner(draft, path);
      linkSync(path, keptAs);
    }
    removeLogs(path);
    renameSync(draft, path);
    syncFolder(dirname(path));
  } finally {
    held?.close();
  }
}

/**
 * Prepares a store to be kept: writes its log back, and locks it. Returns the connection that has the lock. A store that
 * is too damaged for that keeps its log beside the new name; then the result is undefined. Throws `StoreFileError` while
 * another process uses the store.
 */
function keep(path: string, keptAs: string): Connection | undefined {
  for (const end of ["-wal", "-journal"].filter((each) => existsSync(path + each))) {
    // An interrupted restore may have left an older one.
    rmSync(keptAs + end, { force: true });
    // SQLite removes the log of a store that it cannot read.
    linkSync(path + end, keptAs + end);
  }
  const connection = new Connection(path, { busyTimeoutMs });
  try {
    connection.pragma("journal_mode = DELETE");
    connection.run("BEGIN EXCLUSIVE");
    removeLogs(keptAs);
    return connection;
  } catch (error) {
    connection.close();
    if (isBusy(error)) {
      removeLogs(keptAs);
      throw new StoreFileError(`${path}: another process uses it; try again when that has ended`);
    }
    return undefined;
  }
}

/** SQLite would take the leftovers of another file for a part of this one. */
function removeLogs(file: string): void {
  for (const end of sqliteSuffixes) {
    rmSync(file + end, { force: true });
  }
}

/** The server that may use the former store may use the new one. */
function takeOwner(draft: string, path: string): void {
  const { mode, uid, gid } = statSync(path);
  chmodSync(draft, mode);
  if (process.getuid?.() === 0) {
    chownSync(draft, uid, gid);
  }
}
