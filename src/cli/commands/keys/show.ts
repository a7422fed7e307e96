import type { Command } from "commander";
import { formatKey } from "../../print/key.ts";
import { keyToJson, loadKeyStatus } from "../../print/key-status.ts";
import { printableJson } from "../../print/printable.ts";
import { withExistingStore } from "../../store-file.ts";
import { requireKey } from "./key-lookup.ts";

/** `petstore keys show ID`. */
export function addKeysShow(keys: Command): void {
  keys
    .command("show")
    .summary("show all of one key, without its secret")
    .description("Shows all that is known of one key: its settings, its use, and its ban.")
    .argument("<id>", "the key's id, key_…")
    .option("--json", "print an object, as 'keys list --json' has it")
    .addHelpText("after", help)
    .action(async (id: string, _options, command: Command) => {
      const { db, json } = command.optsWithGlobals<{ db: string; json?: true }>();
      const nowMs = Date.now();
      const standing = await withExistingStore(db, async (store) =>
        loadKeyStatus(store, await requireKey(store, id), nowMs),
      );
      process.stdout.write(json ? `${printableJson(keyToJson(standing))}\n` : formatKey(standing, nowMs));
    });
}

const help = `
A running server saves its counts four times a second.

Examples:
  $ petstore keys show key_4kD0aT7uLw2QxYzB
  $ petstore keys show key_4kD0aT7uLw2QxYzB --json | jq .day.remaining`;
