import type { Command } from "commander";
import { maskCredentials } from "../../domain/masking.ts";
import type { CheckDepth } from "../../domain/store/store-maintenance.ts";
import { Failure } from "../failure.ts";
import { printable } from "../print/printable.ts";
import { withProgress } from "../print/progress.ts";
import { checkStore } from "../store-file.ts";

/** `petstore check`: whether the store is sound. */
export function addCheck(program: Command): void {
  program
    .command("check")
    .summary("verify the store")
    .description("Reads the whole store and lists its faults, one per line. It changes nothing.")
    .option("--quick", "skip the longest check: whether the indexes agree with their tables")
    .addHelpText("after", help)
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

const help = `
Exits with 0 when the store is sound, and with 1 when it has faults or cannot be
read. A server may run meanwhile.

Examples:
  $ petstore check
  $ petstore check --quick --db petstore-2026-06-01.db`;
