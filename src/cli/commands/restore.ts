import type { Command } from "commander";
import { interruptibly } from "../interruption.ts";
import { printable } from "../print/printable.ts";
import { withProgress } from "../print/progress.ts";
import { fileName } from "../settings/value-type.ts";
import { maintenanceOf } from "../store-file.ts";

/** `petstore restore FILE`: a backup in the place of the store. */
export function addRestore(program: Command): void {
  program
    .command("restore")
    .summary("put a backup in the place of the store")
    .description("Copies a backup, checks the copy, and puts it in the place of the store, which is kept beside it.")
    .argument("<file>", "the backup, as 'petstore backup' has written it", fileName.parse)
    .addHelpText("after", help)
    .action(async (file: string, _options, command: Command) => {
      await restore(file, command.optsWithGlobals<{ db: string }>().db);
    });
}

async function restore(file: string, db: string): Promise<void> {
  const keptAs = await interruptibly((guard) =>
    withProgress("restoring", (report) => maintenanceOf(db).restore(file, guard(report))),
  );
  const kept = keptAs === undefined ? "" : `; what stood there is ${keptAs}`;
  process.stdout.write(`${printable(`restored ${db} from ${file}${kept}`)}\n`);
}

const help = `
No server, nor any other command, may use the store meanwhile. The backup is
left as it is. Unless it is sound, as 'petstore check' tells, nothing is
changed. What has been written since the backup is only in the file that is
kept, the revocation of keys included.

Examples:
  $ petstore restore petstore-2026-06-01.db
  $ petstore restore petstore-2026-06-01.db --db elsewhere/petstore.db`;
