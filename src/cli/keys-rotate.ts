import { randomBytes } from "node:crypto";
import { type Command, Option } from "commander";
import { type Key, refusalOf } from "../domain/key.ts";
import { hashSecret, mintSecret } from "../domain/key-secret.ts";
import { argument } from "./argument.ts";
import { durationForm, parseDuration } from "./duration.ts";
import { Failure } from "./failure.ts";
import { requireKey } from "./key-lookup.ts";
import { printSecret } from "./secret.ts";
import { withExistingStore } from "./store-file.ts";

/** `petstore keys rotate ID`. */
export function addKeysRotate(keys: Command): void {
  const parseGrace = argument(parseDuration, durationForm);
  const grace = new Option("--grace <duration>", "how long old secrets work on, such as 0s or 7d");
  keys
    .command("rotate")
    .summary("give a key a new secret")
    .description(
      "Gives a key a new secret, and prints it. Its id, limits and counters stay. Old secrets work on a while.",
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
  const key = await withExistingStore(options.db, async (store) => {
    const found = await requireKey(store, id);
    assertLive(found, Date.now());
    await store.rotateKey(id, hashSecret(secret), Date.now() + options.grace);
    return found;
  });
  printSecret(key, secret, options);
}

function assertLive(key: Key, nowMs: number): void {
  const refusal = refusalOf({ key, secretExpiresAtMs: undefined }, nowMs);
  if (refusal !== undefined) {
    const state = refusal.code === "API_KEY_REVOKED" ? "is revoked, for good" : "has expired";
    throw new Failure(`${key.id} ${state}: create a new key`);
  }
}
