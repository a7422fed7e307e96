import { randomBytes } from "node:crypto";
import { type Command, Option } from "commander";
import { hashSecret, type Key, mintSecret } from "../../../domain/key.ts";
import { describeLimits, noUsage, quotaOf } from "../../../domain/limits.ts";
import type { Store } from "../../../domain/store/store.ts";
import { Failure } from "../../failure.ts";
import { argument } from "../../parse/argument.ts";
import { durationForm, parseDuration } from "../../parse/number.ts";
import { printSecret } from "../../print/key.ts";
import { formatMinute } from "../../print/number.ts";
import { printable } from "../../print/terminal.ts";
import { withExistingStore } from "../../store-file.ts";
import { requireKey, requireKnown, revokedFailure, takenFailure } from "./key-lookup.ts";

/** `petstore keys rotate ID`. */
export function addKeysRotate(keys: Command): void {
  const parseGrace = argument(parseDuration, durationForm);
  const grace = new Option("--grace <duration>", "how long old secrets keep working, such as 0s or 7d");
  keys
    .command("rotate")
    .summary("give a key a new secret")
    .description(
      "Gives a key a new secret and prints it. Its id, limits and counters stay. Old secrets keep working for a while.",
    )
    .argument("<id>", "the key's id, key_…")
    .addOption(grace.argParser(parseGrace).default(parseGrace("24h"), "24h"))
    .option("--json", "print an object with id, key and plan")
    .addHelpText("after", "\nExample:\n  $ petstore keys rotate key_4kD0aT7uLw2QxYzB --grace 7d")
    .action(async (id: string, _options, command: Command) => {
      await rotateKey(id, command.optsWithGlobals<RotateOptions>());
    });
}

interface RotateOptions {
  readonly db: string;
  /** In milliseconds. */
  readonly grace: number;
  readonly json?: true;
}

async function rotateKey(id: string, options: RotateOptions): Promise<void> {
  const secret = mintSecret(randomBytes);
  const { outcome, key } = await withExistingStore(options.db, async (store) => {
    assertNotExpired(await requireKey(store, id), Date.now());
    return requireKnown(await store.rotateKey(id, hashSecret(secret), Date.now() + options.grace), id);
  });
  if (outcome === "revoked") {
    throw revokedFailure(key, "create a new key");
  }
  if (outcome !== "done") {
    throw takenFailure();
  }
  printSecret(key, secret, options);
  if (!options.json) {
    const endMs = Math.min(Date.now() + options.grace, key.expiresAtMs ?? Number.POSITIVE_INFINITY);
    const until = new Date(endMs).toISOString();
    process.stdout.write(options.grace === 0 ? "Old secrets no longer work.\n" : `Old secrets work until ${until}.\n`);
  }
}

function assertNotExpired({ id, revokedAtMs, expiresAtMs = Number.POSITIVE_INFINITY }: Key, nowMs: number): void {
  if (revokedAtMs === undefined && expiresAtMs <= nowMs) {
    throw new Failure(`${id} has expired: extend it first, with 'petstore keys update ${id} --expires-in 30d'`);
  }
}

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
