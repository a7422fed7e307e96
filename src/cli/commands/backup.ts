import { statSync } from "node:fs";
import { constants, setPriority } from "node:os";
import type { Command } from "commander";
import { DomainError } from "../../domain/errors.ts";
import { Failure, isSystemError, systemFailure } from "../failure.ts";
import { interruptibly } from "../interruption.ts";
import { formatByteSize } from "../parse/number.ts";
import { printable } from "../print/printable.ts";
import { withProgress } from "../print/progress.ts";
import { fileName } from "../settings/value-type.ts";
import { withExistingStore } from "../store-file.ts";
import { noteBackup } from "./backup-note.ts";

/** `petstore backup FILE`: a consistent copy of the store, taken while servers go on writing. */
export function addBackup(program: Command): void {
  program
    .command("backup")
    .summary("copy the store while it is in use")
    .description("Copies the whole store, keys included, to a new file. Servers may go on reading and writing.")
    .argument("<file>", "where to put the copy; it must not exist yet", fileName.parse)
    .addHelpText("after", "\nExample:\n  $ petstore backup petstore-2026-06-01.db")
    .action(async (file: string, _options, command: Command) => {
      await backUp(command.optsWithGlobals<{ db: string }>().db, file);
    });
}

async function backUp(db: string, file: string): Promise<void> {
  yieldToServers();
  const work = interruptibly((guard) =>
    withExistingStore(db, async ({ maintenance }) => {
      if (maintenance === undefined) {
        throw new Failure(`${db} is not kept in files: back it up with the tools of its database`);
      }
      const takenAtMs = Date.now();
      await withProgress("backing up", (report) => maintenance.backup(file, guard(report)));
      const bytes = statSync(file).size;
      await noteBackup(maintenance, { takenAtMs, bytes });
      return bytes;
    }),
  );
  const bytes = await work.catch((error: unknown) => {
    throw toFailure(error, file);
  });
  process.stdout.write(`${printable(`backed up ${db} to ${file} (${formatByteSize(bytes)})`)}\n`);
}

/** That there is no room is most likely to be so where the copy goes. */
function toFailure(error: unknown, file: string): unknown {
  const reason = error instanceof DomainError ? error.cause : error;
  return reason !== error || isSystemError(error) ? systemFailure(`back up to ${file}`, reason) : error;
}

/** A backup can wait for the processor, callers cannot. */
function yieldToServers(): void {
  try {
    setPriority(constants.priority.PRIORITY_LOW);
  } catch {
    // A sandbox may forbid it; the backup is as good without.
  }
}
