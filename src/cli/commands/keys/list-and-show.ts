import type { Command } from "commander";
import { formatKey, keyStatus, keyToJson, loadKeyStatus } from "../../print/key.ts";
import { formatKeys } from "../../print/key-table.ts";
import { printableJson, terminalWidth } from "../../print/terminal.ts";
import { withExistingStore } from "../../store-file.ts";
import { requireKey } from "./key-lookup.ts";

/** `petstore keys list`. */
export function addKeysList(keys: Command): void {
  keys
    .command("list")
    .summary("list the keys and their usage, without secrets")
    .description("Lists the keys in the order of their creation, with their usage.")
    .option("--all", "list revoked keys too")
    .option("--wide", "show all columns in full, whatever the width")
    .option("--json", "print an array of objects")
    .addHelpText("after", listHelp)
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
  process.stdout.write(
    formatKeys(listed, { nowMs, width: terminalWidth(), wide }) + describeHidden(keys.length - listed.length),
  );
}

function describeHidden(count: number): string {
  if (count === 0) {
    return "";
  }
  return `\n${count === 1 ? "1 revoked key is" : `${count} revoked keys are`} not shown; --all shows them too.\n`;
}

const listHelp = `
DAY is the number of requests in the current day window, and its limit. 'keys
show' says when the window resets. A running server saves its counts four times
a second. A wide terminal shows more columns. Keys that still call deprecated
operations are listed below, with the time of the last call.

Examples:
  $ petstore keys list
  $ petstore keys list --json | jq -r '.[] | select(.ban != null) | .name'`;

/** `petstore keys show ID`. */
export function addKeysShow(keys: Command): void {
  keys
    .command("show")
    .summary("show everything about one key but its secret")
    .description("Shows the settings, usage and ban of one key, and until when its old secrets work.")
    .argument("<id>", "the key's id, key_…")
    .option("--json", "print an object, as in 'keys list --json', with the old secrets")
    .addHelpText("after", showHelp)
    .action(async (id: string, _options, command: Command) => {
      const { db, json } = command.optsWithGlobals<{ db: string; json?: true }>();
      const nowMs = Date.now();
      const [status, oldSecretEnds] = await withExistingStore(db, async (store) => [
        await loadKeyStatus(store, await requireKey(store, id), nowMs),
        await store.listOldSecretEnds(id, nowMs),
      ]);
      process.stdout.write(
        json
          ? `${printableJson({ ...keyToJson(status), oldSecrets: oldSecretEnds.map(oldSecretToJson) })}\n`
          : formatKey(status, oldSecretEnds, nowMs),
      );
    });
}

function oldSecretToJson(endMs: number): object {
  return { expiresAt: new Date(endMs).toISOString() };
}

const showHelp = `
Old secrets are those that 'keys rotate' has replaced and that still work. A
running server saves its counts four times a second.

Examples:
  $ petstore keys show key_4kD0aT7uLw2QxYzB
  $ petstore keys show key_4kD0aT7uLw2QxYzB --json | jq .day.remaining`;
