import { randomBytes } from "node:crypto";
import { type Command, Option } from "commander";
import type { Key } from "../../../domain/key.ts";
import { hashSecret, mintSecret } from "../../../domain/key-secret.ts";
import { Failure } from "../../failure.ts";
import { argument } from "../../parse/argument.ts";
import { durationForm, parseDuration } from "../../parse/duration.ts";
import { printSecret } from "../../print/key.ts";
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
