import { statSync } from "node:fs";
import { constants, setPriority } from "node:os";
import type { Command } from "commander";
import { DomainError } from "../../domain/errors.ts";
import { maskCredentials } from "../../domain/masking.ts";
import type { BackupRecord, CheckDepth, StoreMaintenance } from "../../domain/store.ts";
import { describeError, Failure, isSystemError, systemFailure } from "../failure.ts";
import { interruptibly, withProgress } from "../long-work.ts";
import { formatByteSize } from "../print/format.ts";
import { printable } from "../print/terminal.ts";
import { nameOfRealFile } from "../settings/value-type.ts";
import { checkStore, maintenanceOf, withExistingStore } from "../store.ts";

/** `petstore backup FILE`: a consistent copy of the store, taken while servers go on writing. */
export function addBackup(program: Command): void {
  program
    .command("backup")
    .summary("copy the store while it is in use")
    .description("Copies the whole store, including keys, to a new file. Servers may go on reading and writing.")
    .argument("<file>", "the copy; it must not exist yet", nameOfRealFile.parse)
    .addHelpText("after", "\nExample:\n  $ petstore backup petstore-2026-06-01.db")
    .action(async (file: string, _options, command: Command) => {
      await backUp(command.optsWithGlobals<{ db: string }>().db, file);
    });
}

/** `petstore restore FILE`: replaces the store with a backup. */
export function addRestore(program: Command): void {
  program
    .command("restore")
    .summary("replace the store with a backup")
    .description(
      "Copies a backup, checks the copy, and replaces the store with it. The former store is kept beside it.",
    )
    .argument("<file>", "the backup, as 'petstore backup' wrote it", nameOfRealFile.parse)
    .addHelpText("after", restoreHelp)
    .action(async (file: string, _options, command: Command) => {
      await restore(file, command.optsWithGlobals<{ db: string }>().db);
    });
}

async function backUp(db: string, file: string): Promise<void> {
  requireMaintenance(db);
  lowerPriority();
  const work = interruptibly((guard) =>
    withExistingStore(db, async ({ maintenance = notInFiles() }) => {
      const takenAtMs = Date.now();
      await withProgress("backing up", (report) => maintenance.backup(file, guard(report)));
      const bytes = statSync(file).size;
      await recordBackup(maintenance, { takenAtMs, bytes });
      return bytes;
    }),
  );
  const bytes = await work.catch((error: unknown) => {
    throw toFailure(error, file);
  });
  process.stdout.write(`${printable(`backed up ${db} to ${file} (${formatByteSize(bytes)})`)}\n`);
}

/**
 * Records a backup in its store, where servers report it. A full disk may prevent that, and then the backup matters
 * most. So the command warns, and does not fail.
 */
export async function recordBackup(store: Pick<StoreMaintenance, "recordBackup">, backup: BackupRecord): Promise<void> {
  try {
    await store.recordBackup(backup);
  } catch (error) {
    process.stderr.write(
      `petstore: warning: the backup is complete, but the store could not record it: ${describeError(error)}\n`,
    );
  }
}

/** A full disk is most likely that of the copy, so the failure names the copy. */
function toFailure(error: unknown, file: string): unknown {
  const reason = error instanceof DomainError ? error.cause : error;
  return reason !== error || isSystemError(error) ? systemFailure(`back up to ${file}`, reason) : error;
}

/** Throws a `Failure` where the database has tools of its own. */
function requireMaintenance(db: string): StoreMaintenance {
  return maintenanceOf(db) ?? notInFiles();
}

function notInFiles(): never {
  throw new Failure(
    "PostgreSQL keeps this store: copy it with pg_dump and pg_restore, or go back with point-in-time recovery",
  );
}

/** Leaves the processor to the servers. */
function lowerPriority(): void {
  try {
    setPriority(constants.priority.PRIORITY_LOW);
  } catch {
    // A sandbox may forbid it. The backup works without it.
  }
}

async function restore(file: string, db: string): Promise<void> {
  const keptAs = await interruptibly((guard) =>
    withProgress("restoring", (report) => requireMaintenance(db).restore(file, guard(report))),
  );
  const kept = keptAs === undefined ? "" : `; the former store is ${keptAs}`;
  process.stdout.write(`${printable(`restored ${db} from ${file}${kept}`)}\n`);
}

const restoreHelp = `
No server or other command may use the store meanwhile. The backup itself stays
as it is. If it is not sound, as 'petstore check' would say, nothing is changed.
Whatever was written since the backup is only in the former store, including
the revocation of keys.

Examples:
  $ petstore restore petstore-2026-06-01.db
  $ petstore restore petstore-2026-06-01.db --db elsewhere/petstore.db`;

/** `petstore check`: whether the store is sound. */
export function addCheck(program: Command): void {
  program
    .command("check")
    .summary("verify the store")
    .description("Reads the whole store and lists its faults, one per line. It changes nothing.")
    .option("--quick", "skip the longest check: whether the indexes agree with their tables")
    .addHelpText("after", checkHelp)
    .action(async (_options, command: Command) => {
      const { db, quick } = command.optsWithGlobals<{ db: string; quick?: true }>();
      await check(db, quick ? "quick" : "full");
    });
}

async function check(db: string, depth: CheckDepth): Promise<void> {
  const faults = await withProgress("checking", (report) => checkStore(db, depth, report));
  if (faults.length === 0) {
    process.stdout.write(`${printable(maskCredentials(db))} is sound\n`);
    return;
  }
  process.stdout.write(faults.map((fault) => `${printable(fault)}\n`).join(""));
  throw new Failure(`${maskCredentials(db)} has ${faults.length === 1 ? "a fault" : `${faults.length} faults`}`);
}

const checkHelp = `
Exits with 0 when the store is sound, and with 1 when it has faults or cannot be
read. A server may run meanwhile.

Examples:
  $ petstore check
  $ petstore check --quick --db petstore-2026-06-01.db`;
