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
    .summary("show everything about one key but its secret")
    .description("Shows the settings, usage and ban of one key, and until when its old secrets work.")
    .argument("<id>", "the key's id, key_…")
    .option("--json", "print an object, as in 'keys list --json', with the old secrets")
    .addHelpText("after", help)
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

const help = `
Old secrets are those that 'keys rotate' has replaced and that still work. A
running server saves its counts four times a second.

Examples:
  $ petstore keys show key_4kD0aT7uLw2QxYzB
  $ petstore keys show key_4kD0aT7uLw2QxYzB --json | jq .day.remaining`;
