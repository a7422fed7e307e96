import {
  chmodSync,
  chownSync,
  closeSync,
  existsSync,
  fsyncSync,
  linkSync,
  openSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
} from "node:fs";
import { dirname } from "node:path";
import type { ReportProgress } from "../../domain/store.ts";
import { backUp } from "./backup.ts";
import { checkDatabase, openForReading } from "./check.ts";
import { Connection } from "./connection.ts";
import { StoreFileError } from "./database.ts";
import { acquireServerLock } from "./server-lock.ts";

/** How long to wait for another process to leave the store, in milliseconds. */
const busyTimeoutMs = 1_000;

/**
 * Puts a copy of a backup in the place of a store, once the copy is known to be sound. The store that stood there is kept
 * beside it; returns its name, or undefined when there was none. Until that moment nothing changes, and whatever happens
 * meanwhile, one of the two whole stores stands there.
 *
 * Throws `StoreHeldError` while the store is served; `StoreFileError` while another process uses it, for a backup that
 * is not sound, and where a store that was kept before would be lost.
 */
export async function restoreDatabase(
  backup: string,
  file: string,
  report: ReportProgress = () => {},
): Promise<string | undefined> {
  openForReading(backup).close();
  const wasThere = existsSync(file);
  using undo = new DisposableStack();
  const lock = acquireServerLock(file);
  const path = realpathSync(file);
  if (!wasThere) {
    // The lock has made an empty one.
    undo.defer(() => rmSync(path, { force: true }));
  }
  undo.defer(() => lock.release());
  const keptAs = wasThere ? `${path}.before-restore` : undefined;
  assertPossible(backup, path, keptAs);

  const draft = `${path}.${process.pid}.restore`;
  undo.defer(() => rmSync(draft, { force: true }));
  await copySound(backup, draft, report);
  replace(path, draft, keptAs);
  undo.move();
  lock.release();
  return keptAs;
}

function assertPossible(backup: string, path: string, keptAs: string | undefined): void {
  if (realpathSync(backup) === path) {
    throw new StoreFileError(`${backup}: this is the store itself`);
  }
  if (keptAs !== undefined && existsSync(keptAs)) {
    throw new StoreFileError(`${keptAs}: kept by a former restore; move it away, or remove it, first`);
  }
}

/** Copies a backup, and checks the copy, which is what will be used. */
async function copySound(backup: string, draft: string, report: ReportProgress): Promise<void> {
  const connection = openForReading(backup);
  try {
    // It is half of the work; the other half is the check.
    await backUp(connection, draft, (done, total) => report(done, 2 * total));
  } finally {
    connection.close();
  }
  const faults = await checkDatabase(draft, "full", (done, total) => report(total + done, 2 * total));
  if (faults.length > 0) {
    const others = faults.length > 1 ? `, and ${faults.length - 1} more` : "";
    throw new StoreFileError(`${backup}: it is not sound: ${faults[0]}${others}`);
  }
}

/** Replaces a store by the draft of another one, in one step. */
function replace(path: string, draft: string, keptAs: string | undefined): void {
  const held = keptAs === undefined ? undefined : detachLog(path);
  try {
    if (keptAs !== undefined) {
      keep(path, draft, keptAs);
    }
    renameSync(draft, path);
    syncFolder(dirname(path));
  } finally {
    held?.close();
  }
}

/** Gives a store a second name; its log goes with it, lest it be taken for the new store's. */
function keep(path: string, draft: string, keptAs: string): void {
  const { mode, uid, gid } = statSync(path);
  chmodSync(draft, mode);
  if (process.getuid?.() === 0) {
    chownSync(draft, uid, gid);
  }
  linkSync(path, keptAs);
  if (existsSync(`${path}-wal`)) {
    renameSync(`${path}-wal`, `${keptAs}-wal`);
  }
  rmSync(`${path}-shm`, { force: true });
}

/**
 * Writes a store's log back into it, and holds the store, so that nobody else uses it. Gives what holds it; undefined for
 * a store that is too damaged for that. Throws `StoreFileError` while somebody else uses it.
 */
function detachLog(path: string): Connection | undefined {
  const connection = new Connection(path, { busyTimeoutMs });
  try {
    connection.pragma("journal_mode = DELETE");
    connection.run("BEGIN EXCLUSIVE");
    return connection;
  } catch (error) {
    connection.close();
    if (String((error as { code?: string }).code).startsWith("SQLITE_BUSY")) {
      throw new StoreFileError(`${path}: another process uses it; try again when that has ended`);
    }
    return undefined;
  }
}

/** A new name is on disk only when its folder is. */
function syncFolder(folder: string): void {
  const descriptor = openSync(folder, "r");
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}
