import type { Command } from "commander";
import { keyStatus, keyToJson } from "../../print/key-status.ts";
import { formatKeys } from "../../print/key-table.ts";
import { printableJson } from "../../print/printable.ts";
import { withExistingStore } from "../../store-file.ts";

/** `petstore keys list`. */
export function addKeysList(keys: Command): void {
  keys
    .command("list")
    .summary("list the keys and their usage, without secrets")
    .description("Lists the keys in the order of their creation, with their usage.")
    .option("--all", "list revoked keys too")
    .option("--wide", "show all columns in full, whatever the width")
    .option("--json", "print an array of objects")
    .addHelpText("after", help)
    .action(async (_options, command: Command) => listKeys(command.optsWithGlobals<ListOptions>()));
}

interface ListOptions {
  readonly db: string;
  readonly all?: true;
  readonly wide?: true;
  readonly json?: true;
}

async function listKeys({ db, all, wide, json }: ListOptions): Promise<void> {
  const [keys, usages] = await withExistingStore(db, (store) => Promise.all([store.listKeys(), store.listUsage()]));
  const usageOf = new Map(usages.map((usage) => [usage.keyId, usage]));
  const nowMs = Date.now();
  const listed = keys
    .filter(({ revokedAtMs }) => all || revokedAtMs === undefined)
    .map((key) => keyStatus(key, usageOf.get(key.id), nowMs));
  if (json) {
    process.stdout.write(`${printableJson(listed.map(keyToJson))}\n`);
    return;
  }
  const width = process.stdout.isTTY ? process.stdout.columns : undefined;
  process.stdout.write(formatKeys(listed, { nowMs, width, wide }) + describeHidden(keys.length - listed.length));
}

function describeHidden(count: number): string {
  if (count === 0) {
    return "";
  }
  return `\n${count === 1 ? "1 revoked key is" : `${count} revoked keys are`} not shown; --all shows them too.\n`;
}

const help = `
DAY is the number of requests in the current day window, and its limit. 'keys
show' says when the window resets. A running server saves its counts four times
a second. A wide terminal shows more columns. Keys that still call deprecated
operations are listed below, with the time of the last call.

Examples:
  $ petstore keys list
  $ petstore keys list --json | jq -r '.[] | select(.ban != null) | .name'`;
