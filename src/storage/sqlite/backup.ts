import { closeSync, existsSync, fsyncSync, openSync, renameSync, rmSync } from "node:fs";
import type { ReportProgress } from "../../domain/store.ts";
import { Connection } from "./connection.ts";
import { GentleWrites } from "./gentle-writes.ts";

/**
 * Copies what a connection sees to a new file, which is whole, alone (no log beside it) and readable by its owner only.
 * It gets its name when it is complete. Throws when the file exists already, and the file system's errors.
 *
 * The connection is the copy's own: it reads from one moment throughout, so that writers do not make it start again.
 */
export async function backUp(connection: Connection, file: string, report?: ReportProgress): Promise<void> {
  assertFree(file);
  const draft = `${file}.${process.pid}.tmp`;
  closeSync(openSync(draft, "wx", 0o600));
  try {
    connection.run("BEGIN");
    connection.get("SELECT 1 FROM sqlite_schema");
    await copyGently(connection, draft, report);
    connection.run("COMMIT");
    detachLog(draft);
    sync(draft);
    assertFree(file);
    renameSync(draft, file);
  } finally {
    rmSync(draft, { force: true });
  }
}

async function copyGently(connection: Connection, draft: string, report: ReportProgress = () => {}): Promise<void> {
  using writes = new GentleWrites(draft);
  await connection.copyTo(draft, (done, total) => {
    report(done, total);
    writes.rest();
  });
}

function assertFree(file: string): void {
  if (existsSync(file)) {
    throw new Error(`${file}: exists already`);
  }
}

/** Takes the copy out of WAL mode, in which it would want a second file as soon as it is opened. */
function detachLog(file: string): void {
  const connection = new Connection(file);
  try {
    connection.pragma("journal_mode = DELETE");
  } finally {
    connection.close();
  }
}

function sync(file: string): void {
  const descriptor = openSync(file, "r+");
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}
