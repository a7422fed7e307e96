import type { Command } from "commander";
import { requireKey } from "./key-lookup.ts";
import { printable } from "./printable.ts";
import { withExistingStore } from "./store-file.ts";

/** `petstore keys revoke ID`. */
export function addKeysRevoke(keys: Command): void {
  keys
    .command("revoke")
    .summary("revoke a key for good")
    .description("Revokes a key for good. Running servers refuse it within a second.")
    .argument("<id>", "the key's id, key_…")
    .action(async (id: string, _options, command: Command) => {
      await withExistingStore(command.optsWithGlobals<{ db: string }>().db, async (store) => {
        await requireKey(store, id);
        await store.revokeKey(id, Date.now());
      });
      process.stdout.write(`revoked ${printable(id)}\n`);
    });
}
