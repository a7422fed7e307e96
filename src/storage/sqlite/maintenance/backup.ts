import { closeSync, fdatasyncSync, openSync, renameSync, rmSync } from "node:fs";
import { dirname, resolve } from "node:path";
import type { ReportProgress } from "../../../domain/store/store-maintenance.ts";
import { Connection } from "../connection.ts";
import { belongsToStore, isTaken, StoreFileError, syncFile, syncFolder } from "../files/store-file.ts";

/**
 * Copies what a connection sees to a new file. The copy has no log beside it, is readable by its owner only, and gets
 * its name when it is complete. Its history is of another lineage. Throws `StoreFileError` when the name is taken, and
 * the file system's errors.
 *
 * The copy needs a connection of its own. It reads as of one moment, so that writers do not restart it.
 */
export async function backUp(connection: Connection, file: string, report?: ReportProgress): Promise<void> {
  assertFree(file);
  // An absolute path: the driver trims leading white space, and would write another file.
  const draft = `${resolve(file)}.${process.pid}.tmp`;
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
    renameSync(draft, file);
    syncFolder(dirname(draft));
  } finally {
    rmSync(draft, { force: true });
  }
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
    throw new StoreFileError(`${file}: exists already; name a new file`);
  }
  const leftover = [`${file}-wal`, `${file}-journal`].find(isTaken);
  if (leftover !== undefined) {
    throw new StoreFileError(
      `${leftover}: left of another file, and would be taken for a part of the copy; remove it first`,
    );
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
 * Gives a copy a history of its own. The copy lacks what clients read later, and its next revisions tell of other
 * changes. A backup may be served where it lies. An older store gets its lineage when it is migrated.
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
 * a server's next sync would wait for the whole file. After each piece the disk is left alone for as long as that took.
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

/** A backup comes to its end on a very busy machine, too. */
const longestPauseMs = 100;
