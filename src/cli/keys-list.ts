import type { Command } from "commander";
import { describeKey } from "./key-standing.ts";
import { formatKeys } from "./key-table.ts";
import { keyToJson } from "./key-to-json.ts";
import { printableJson } from "./printable.ts";
import { withExistingStore } from "./store-file.ts";

/** `petstore keys list`. */
export function addKeysList(keys: Command): void {
  keys
    .command("list")
    .summary("list all keys and their use, without their secrets")
    .description("Lists all keys in the order of their creation, the revoked ones included, and what they have used.")
    .option("--wide", "show scopes and times as well, whatever the width")
    .option("--json", "print an array of objects")
    .addHelpText("after", help)
    .action(async (_options, command: Command) => {
      const { db, json, wide } = command.optsWithGlobals<{ db: string; json?: true; wide?: true }>();
      const [listed, usages] = await withExistingStore(db, (store) =>
        Promise.all([store.listKeys(), store.listUsage()]),
      );
      const usageOf = new Map(usages.map((usage) => [usage.keyId, usage]));
      const nowMs = Date.now();
      const described = listed.map((key) => describeKey(key, usageOf.get(key.id), nowMs));
      process.stdout.write(
        json ? `${printableJson(described.map(keyToJson))}\n` : formatKeys(described, { nowMs, wide }),
      );
    });
}

const help = `
MINUTE and DAY are the requests that the two windows have counted, of how many, and when they begin anew. A running
server saves its counts four times a second. Keys that still call deprecated operations are listed below, with the time
of the last call.

Examples:
  $ petstore keys list
  $ petstore keys list --json | jq -r '.[] | select(.deprecatedCalls != []) | .name'`;
