import type { BackupRecord, StoreMaintenance } from "../../domain/store-maintenance.ts";
import { describeError } from "../failure.ts";

/**
 * Notes a backup in its store, where servers tell of it. A full disk may forbid it, which is when a backup is needed
 * most: then this is a line on stderr, and no failure.
 */
export async function noteBackup(store: Pick<StoreMaintenance, "recordBackup">, backup: BackupRecord): Promise<void> {
  try {
    await store.recordBackup(backup);
  } catch (error) {
    process.stderr.write(
      `petstore: warning: the backup is complete, but the store does not know of it: ${describeError(error)}\n`,
    );
  }
}
