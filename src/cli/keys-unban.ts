import type { Command } from "commander";
import { requireKey } from "./key-lookup.ts";
import { printable } from "./printable.ts";
import { withExistingStore } from "./store-file.ts";

/** `petstore keys unban ID`. */
export function addKeysUnban(keys: Command): void {
  keys
    .command("unban")
    .summary("lift the ban of a key")
    .description("Lifts the ban of a key that went on asking when it was over its limits. Its counters stay.")
    .argument("<id>", "the key's id, key_…")
    .action(async (id: string, _options, command: Command) => {
      await withExistingStore(command.optsWithGlobals<{ db: string }>().db, async (store) => {
        await requireKey(store, id);
        await store.unbanKey(id);
      });
      process.stdout.write(`unbanned ${printable(id)}\n`);
    });
}
