import type { BackupRecord } from "../../domain/store.ts";
import type { Connection } from "./connection.ts";

interface LastBackupRow {
  readonly taken_at_ms: bigint;
  readonly bytes: bigint;
}

/** Notes a backup in the place of the one before it. */
export function recordBackup(connection: Connection, { takenAtMs, bytes }: BackupRecord): void {
  connection.run(
    `INSERT OR REPLACE INTO last_backup (number, taken_at_ms, bytes) VALUES (1, ?, ?)`,
    BigInt(takenAtMs),
    BigInt(bytes),
  );
}

/** Undefined when none was noted. */
export function lastBackup(connection: Connection): BackupRecord | undefined {
  const row = connection.get<LastBackupRow>(`SELECT taken_at_ms, bytes FROM last_backup`);
  return row && { takenAtMs: Number(row.taken_at_ms), bytes: Number(row.bytes) };
}
