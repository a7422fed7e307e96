import type { Command } from "commander";
import { quotaOf } from "../../../domain/key.ts";
import { describeLimits } from "../../../domain/limits.ts";
import type { Store } from "../../../domain/store/store.ts";
import { noUsage } from "../../../domain/usage.ts";
import { printable } from "../../print/printable.ts";
import { formatMinute } from "../../print/time.ts";
import { withExistingStore } from "../../store-file.ts";
import { requireKey, requireKnown, revokedFailure } from "./key-lookup.ts";

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

/** `petstore keys unban ID`. */
export function addKeysUnban(keys: Command): void {
  keys
    .command("unban")
    .summary("lift the ban of a key")
    .description("Lifts the ban of a key that kept sending requests over its limits. Its counters stay.")
    .argument("<id>", "the key's id, key_…")
    .action(async (id: string, _options, command: Command) => {
      const { db } = command.optsWithGlobals<{ db: string }>();
      const wasBanned = await withExistingStore(db, (store) => unban(store, id));
      process.stdout.write(`${printable(wasBanned ? `unbanned ${id}` : `${id} was not banned`)}\n`);
    });
}

/** Lifts the ban of a key, even one that the server has not saved yet. Returns whether the store had a ban. */
async function unban(store: Store, id: string): Promise<boolean> {
  const former = await requireKey(store, id);
  const usage = (await store.loadUsage(id)) ?? noUsage;
  const { outcome, key } = requireKnown(await store.unbanKey(id), id);
  if (outcome === "revoked") {
    throw revokedFailure(key, "there is no ban to lift");
  }
  return describeLimits(usage, { quota: quotaOf(former), unbans: former.unbans }, Date.now()).ban !== undefined;
}
