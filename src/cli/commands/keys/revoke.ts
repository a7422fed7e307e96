import type { Command } from "commander";
import { printable } from "../../print/printable.ts";
import { formatMinute } from "../../print/time.ts";
import { withExistingStore } from "../../store-file.ts";
import { requireKnown } from "./key-lookup.ts";

/** `petstore keys revoke ID`. */
export function addKeysRevoke(keys: Command): void {
  keys
    .command("revoke")
    .summary("revoke a key for good")
    .description("Revokes a key for good. Running servers refuse it within a second.")
    .argument("<id>", "the key's id, key_…")
    .action(async (id: string, _options, command: Command) => {
      const { db } = command.optsWithGlobals<{ db: string }>();
      const { outcome, key } = requireKnown(
        await withExistingStore(db, (store) => store.revokeKey(id, Date.now())),
        id,
      );
      const text =
        outcome === "done" ? `revoked ${id}` : `${id} was already revoked, on ${formatMinute(key.revokedAtMs ?? 0)}`;
      process.stdout.write(`${printable(text)}\n`);
    });
}
