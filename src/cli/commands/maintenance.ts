import { statSync } from "node:fs";
import { constants, setPriority } from "node:os";
import { type Command, Help, Option } from "commander";
import { DomainError } from "../../domain/errors.ts";
import { maskCredentials } from "../../domain/masking.ts";
import type { BackupRecord, CheckDepth, StoreMaintenance } from "../../domain/store.ts";
import { describeError, Failure, isSystemError, systemFailure, usageFailure } from "../failure.ts";
import { interruptibly, withProgress } from "../long-work.ts";
import { formatByteSize } from "../print/format.ts";
import { printable, terminalWidth, wrapWords } from "../print/terminal.ts";
import { locationOf } from "../settings/resolve.ts";
import { databaseUrl, nameOfRealFile } from "../settings/value-type.ts";
import { type CopiedCounts, checkStore, copyStore, maintenanceOf, withExistingStore } from "../store.ts";

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

async function backUp(db: string, file: string): Promise<void> {
  requireMaintenance(db);
  lowerPriority();
  const work = interruptibly(
    (guard) =>
      withExistingStore(db, async ({ maintenance = notInFiles() }) => {
        const takenAtMs = Date.now();
        await withProgress("backing up", (report) => maintenance.backup(file, guard(report)));
        const bytes = statSync(file).size;
        await recordBackup(maintenance, { takenAtMs, bytes });
        return bytes;
      }),
    "no backup made",
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

/** `petstore copy --from URL --to URL`: the whole store, in another place or another kind of database. */
export function addCopy(program: Command): void {
  program
    .command("copy")
    .summary("copy the store to another database")
    .description("Copies the whole store to one that is missing or empty, and compares the two at the end.")
    .addOption(createLocation("from", "the store: sqlite:FILE, or postgres://USER:PASSWORD@HOST/DATABASE"))
    .addOption(createLocation("to", "where the copy goes, in the same forms"))
    .configureHelp({ ...program.configureHelp(), visibleGlobalOptions: listTakenByCopy })
    .addHelpText("after", copyHelp)
    .action(async ({ from, to }: CopyOptions) => {
      if (refusedByCopy.some((name) => program.getOptionValueSource(name) === "cli")) {
        throw usageFailure("copy takes its stores from --from and --to: leave out --db and --database");
      }
      await copy(from, to);
    });
}

/** The flags of all commands that `copy` refuses, because it takes two stores. */
const refusedByCopy = ["db", "database"];

function listTakenByCopy(this: Help, command: Command): Option[] {
  const taken = Help.prototype.visibleGlobalOptions.call(this, command);
  return taken.filter((option) => !refusedByCopy.includes(option.attributeName()));
}

/** A flag that also has a variable, because others see the flags of a process, and a URL may contain a password. */
function createLocation(name: "from" | "to", description: string): Option {
  return new Option(`--${name} <url>`, description)
    .argParser((text: string) => databaseUrl.parse(text, undefined))
    .env(`PETSTORE_COPY_${name.toUpperCase()}`)
    .makeOptionMandatory();
}

interface CopyOptions {
  readonly from: string;
  readonly to: string;
}

async function copy(from: string, to: string): Promise<void> {
  const counts = await interruptibly((guard) =>
    withProgress("copying", (report) => copyStore(locationOf(from), locationOf(to), guard(report))),
  );
  const line = `copied ${maskCredentials(from)} to ${maskCredentials(to)}: ${describeCounts(counts)}; both are the same`;
  process.stdout.write(`${wrapWords(printable(line), terminalWidth())}\n`);
}

/** The tables whose rows are counted in the output, with the words for one row and for several. */
const countedTables: readonly [table: string, one: string, many: string][] = [
  ["pets", "pet", "pets"],
  ["orders", "order", "orders"],
  ["changes", "change", "changes"],
  ["holds", "hold", "holds"],
  ["keys", "key", "keys"],
  ["webhooks", "webhook", "webhooks"],
];

function describeCounts(counts: CopiedCounts): string {
  return countedTables.map(([table, one, many]) => `${counts[table]} ${counts[table] === 1 ? one : many}`).join(", ");
}

const copyHelp = `
The copy has all of it: pets, stock and its history, orders, holds, keys with
their usage, webhooks with how far each has come, and idempotency keys. So the
cursors, versions and retries of clients stay valid. What Valkey counts stays
where it is. Secrets of webhooks that are encrypted stay encrypted, and need the
same PETSTORE_SECRET_KEY.

End the servers of both stores first. While the copy is made, no server can
begin to use either of them, and commands cannot write to them. Whatever ends it
half-way leaves the target as it was: run it again. Then serve one of the two,
and no longer the other: both would give the same revisions to different
changes, and deliver each change of the stock to the webhooks twice.

Both stores are of this version: a server that is started on an older one
migrates it. To try a copy while the store is served, copy a backup of it.

Examples:
  $ petstore copy --from sqlite:petstore.db --to postgres://petstore@db/petstore
  $ petstore copy --from postgres://petstore@db/petstore --to sqlite:petstore.db`;
