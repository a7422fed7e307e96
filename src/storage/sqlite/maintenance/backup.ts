import { randomBytes } from "node:crypto";
import {
  chmodSync,
  chownSync,
  closeSync,
  existsSync,
  fdatasyncSync,
  linkSync,
  openSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
} from "node:fs";
import { dirname, resolve } from "node:path";
import type { ReportProgress } from "../../../domain/store.ts";
import { Connection, isBusy, isMediumFailure } from "../connection.ts";
import { acquireServerLock } from "../server-lock.ts";
import {
  assertSyncable,
  belongsToStore,
  isSameFile,
  isTaken,
  keptFileOf,
  StoreFileError,
  sqliteSuffixes,
  syncFile,
  syncFolder,
  toStoreFileError,
} from "../store-file.ts";
import { checkDatabase, openForReading } from "./check.ts";

/**
 * Copies what a connection sees to a new file. The copy has no log beside it, is readable by its owner only, and gets
 * its name when it is complete. Its history has another lineage. Throws `StoreFileError` when the name is taken, and
 * the file system's errors.
 *
 * The connection must have no other user. The copy reads in one transaction, so that writers do not restart it.
 */
export async function backUp(connection: Connection, file: string, report?: ReportProgress): Promise<void> {
  assertFree(file);
  // An absolute path: the driver trims leading white space, and would write another file.
  const draft = draftOf(resolve(file), "tmp");
  assertSyncable(dirname(draft));
  closeSync(openSync(draft, "wx", 0o600));
  try {
    connection.run("BEGIN");
    connection.get("SELECT 1 FROM sqlite_schema");
    await copyPaced(connection, draft, report);
    connection.run("COMMIT");
    detachLog(draft);
    beginLineage(draft);
    syncFile(draft);
    assertFree(file);
    moveToFree(draft, file);
    syncFolder(dirname(draft));
  } finally {
    rmSync(draft, { force: true });
    // A copy that fails, such as on a full disk, leaves its journal.
    removeLogs(draft);
  }
}

/**
 * A new name for a file that gets its own name once it is complete. A command that is killed leaves its draft. Process
 * ids do not tell drafts apart: in a container, every command may have the id 1.
 */
function draftOf(file: string, extension: "tmp" | "restore"): string {
  return `${file}.${randomBytes(6).toString("hex")}.${extension}`;
}

async function copyPaced(connection: Connection, draft: string, report: ReportProgress = () => {}): Promise<void> {
  using pacedFsync = new PacedFsync(draft);
  await connection.copyTo(draft, (done, total) => {
    report(done, total);
    pacedFsync.pause();
  });
}

/** Throws `StoreFileError` for a name that belongs to the store at a real path. */
export function assertOutside(path: string, file: string): void {
  if (belongsToStore(file, path)) {
    throw new StoreFileError(`${file}: belongs to the store itself; name another file`);
  }
}

/** SQLite would take the leftover log or journal of another file for the copy's own. */
function assertFree(file: string): void {
  if (isTaken(file)) {
    throw nameTaken(file);
  }
  const leftover = [`${file}-wal`, `${file}-journal`].find(isTaken);
  if (leftover !== undefined) {
    throw new StoreFileError(
      `${leftover}: left of another file, and would be taken for a part of the copy; remove it first`,
    );
  }
}

function nameTaken(file: string): StoreFileError {
  return new StoreFileError(`${file}: exists already; name a new file`);
}

/**
 * Renames a file. Throws `StoreFileError` if another program has made a file of the new name meanwhile: unlike a rename,
 * a link overwrites nothing. Where the file system or the system's policy allows no links, an empty file holds the name
 * for the moment before the rename.
 */
function moveToFree(from: string, to: string): void {
  try {
    if (tryToLink(from, to)) {
      rmSync(from);
    } else {
      closeSync(openSync(to, "wx", 0o600));
      renameOverPlaceholder(from, to);
    }
  } catch (error) {
    throw (error as NodeJS.ErrnoException).code === "EEXIST" ? nameTaken(to) : error;
  }
}

/** Returns whether the file has the second name. If not, the rename tells why it cannot have it. */
function tryToLink(from: string, to: string): boolean {
  try {
    linkSync(from, to);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EEXIST") {
      throw error;
    }
    return false;
  }
}

function renameOverPlaceholder(from: string, placeholder: string): void {
  try {
    renameSync(from, placeholder);
  } catch (error) {
    rmSync(placeholder, { force: true });
    throw error;
  }
}

/** Takes the copy out of WAL mode: in that mode SQLite makes more files as soon as it opens one. */
function detachLog(file: string): void {
  const connection = new Connection(file);
  try {
    connection.pragma("journal_mode = DELETE");
  } finally {
    connection.close();
  }
}

/**
 * Gives a copy a lineage of its own. The copy lacks changes that clients read later, and its next revisions are other
 * changes. A backup may be served without a restore. An older store gets its lineage when it is migrated.
 */
function beginLineage(file: string): void {
  const connection = new Connection(file);
  try {
    if (connection.get("SELECT 1 FROM sqlite_schema WHERE name = 'history'") !== undefined) {
      connection.run("UPDATE history SET lineage = lower(hex(randomblob(6)))");
    }
  } finally {
    connection.close();
  }
}

/**
 * Writes a large file without holding up others that write to the same disk. Each piece is synced by itself: otherwise
 * a server's next sync would wait for the whole file. After each piece the thread pauses for as long as the piece took.
 */
export class PacedFsync implements Disposable {
  readonly #descriptor: number;
  readonly #sleeper = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));
  #startedAtMs = performance.now();

  /** Takes the file that is being written. */
  constructor(file: string) {
    this.#descriptor = openSync(file, "r+");
  }

  /** Call it after each piece. It blocks the thread, which is a command's own. */
  pause(): void {
    fdatasyncSync(this.#descriptor);
    const tookMs = performance.now() - this.#startedAtMs;
    Atomics.wait(this.#sleeper, 0, 0, Math.min(tookMs, longestPauseMs));
    this.#startedAtMs = performance.now();
  }

  [Symbol.dispose](): void {
    closeSync(this.#descriptor);
  }
}

/** The longest pause, in milliseconds. With it, a backup comes to its end on a very busy machine, too. */
const longestPauseMs = 100;

/** How long to wait for another process to close the store, in milliseconds. */
const busyTimeoutMs = 1_000;

/**
 * Replaces a store with a copy of a backup, once the copy is known to be sound. Keeps the former store beside the new
 * one, and returns its name there; undefined when there was none. A crash at any moment leaves one of the two stores in
 * place, whole.
 *
 * Throws `StoreHeldError` while the store is served. Throws `StoreFileError` while another process uses the store, for
 * a backup that is not sound, and where the former store, or one that an earlier restore has kept, would be lost.
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
  undo.defer(() => lock.release());
  // An empty file is no store. The lock makes one, and so does a restore that is cut short.
  const keptAs = statSync(path).size === 0 ? undefined : keptFileOf(path);
  if (keptAs !== undefined) {
    assertKeepable(path, keptAs);
    undo.defer(() => giveBack(path, keptAs));
  } else if (!wasThere) {
    undo.defer(() => removeEmpty(path));
  }

  const draft = draftOf(path, "restore");
  undo.defer(() => rmSync(draft, { force: true }));
  await copySound(backup, draft, report);
  replace(path, draft, keptAs);
  undo.move();
  lock.release();
  return keptAs;
}

/** The errors of a file system, or of the system's policy, that allow no hard links. */
const linkRefusals: ReadonlySet<string | undefined> = new Set(["EPERM", "ENOTSUP", "EOPNOTSUPP", "ENOSYS"]);

/**
 * Throws `StoreFileError` for a store that cannot be kept, and the system's errors: before the copy, which may take
 * long.
 */
function assertKeepable(path: string, keptAs: string): void {
  if (isSameFile(path, keptAs)) {
    // A restore that was cut short before the store was replaced has left the store with a second name.
    assertHasLogs(path, keptAs);
    rmSync(keptAs);
  }
  if (isTaken(keptAs)) {
    throw new StoreFileError(`${keptAs}: kept by a former restore; move it away, or remove it, first`);
  }
  try {
    linkSync(path, keptAs);
  } catch (error) {
    if (!linkRefusals.has((error as NodeJS.ErrnoException).code)) {
      throw error;
    }
    throw new StoreFileError(
      `${path}: it can have no hard link, by which a restore keeps the former store; move the store away ` +
        "first, with its -wal and -journal if there are any",
    );
  }
  rmSync(keptAs);
}

/** The ends of the names of the logs, in which a store may have what its file has not. */
const logEnds = ["-wal", "-journal"];

/** Throws if a log of the store has only the other name, as after a restore that was cut short at the very end. */
function assertHasLogs(path: string, keptAs: string): void {
  for (const end of logEnds) {
    if (existsSync(keptAs + end) && !existsSync(path + end)) {
      throw new StoreFileError(
        `${keptAs}${end}: a restore that was cut short has left this log of the store; if nothing has used the store ` +
          `since, move the log to ${path}${end}, or else remove it`,
      );
    }
  }
}

/** Takes the other name from a store that has not been replaced, and gives it its logs back. */
function giveBack(path: string, keptAs: string): void {
  if (!isSameFile(path, keptAs)) {
    return;
  }
  for (const end of logEnds) {
    if (existsSync(keptAs + end) && !existsSync(path + end)) {
      renameSync(keptAs + end, path + end);
    }
  }
  removeLogs(keptAs);
  rmSync(keptAs);
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
  takeOwner(draft, path);
  const held = keptAs === undefined ? holdEmpty(path) : keep(path, keptAs);
  try {
    if (keptAs !== undefined) {
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
 * Locks the empty file that stands for a missing store. Throws `StoreFileError` where another process has made
 * a store there meanwhile, or is making one.
 */
function holdEmpty(path: string): Connection {
  const connection = new Connection(path, { busyTimeoutMs });
  try {
    connection.run("BEGIN EXCLUSIVE");
    if (statSync(path).size > 0) {
      throw inUse(path);
    }
    return connection;
  } catch (error) {
    connection.close();
    throw isBusy(error) ? inUse(path) : error;
  }
}

/** Removes such a file, unless another process has made a store there meanwhile, or is making one. */
function removeEmpty(path: string): void {
  try {
    const held = holdEmpty(path);
    rmSync(path);
    held.close();
  } catch {
    // It stays. An empty file can become a store.
  }
}

function inUse(path: string): StoreFileError {
  return new StoreFileError(`${path}: another process uses it; try again when that has ended`);
}

/**
 * Prepares a store to be kept: writes its log back, and locks it. Returns the connection that has the lock. A store that
 * is too damaged for that keeps its log beside the new name; then the result is undefined. Throws `StoreFileError` while
 * another process uses the store.
 */
function keep(path: string, keptAs: string): Connection | undefined {
  for (const end of logEnds.filter((each) => existsSync(path + each))) {
    // An interrupted restore may have left an older one.
    rmSync(keptAs + end, { force: true });
    // SQLite removes the log of a store that it cannot read: a second name keeps the log.
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
      throw inUse(path);
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

/** Gives the draft the owner and mode of the former store, or of the new file, so that the same server may use it. */
function takeOwner(draft: string, path: string): void {
  const { mode, uid, gid } = statSync(path);
  chmodSync(draft, mode);
  if (process.getuid?.() === 0) {
    chownSync(draft, uid, gid);
  }
}
