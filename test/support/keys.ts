import { randomBytes } from "node:crypto";
import { parseArgs } from "node:util";
import { parseDuration } from "../../src/cli/parse/duration.ts";
import { mintKeyId, newKey, type Plan, type Scope, scopes } from "../../src/domain/key.ts";
import { hashSecret, mintSecret } from "../../src/domain/key-secret.ts";
import { openDatabase, prepareDatabase } from "../../src/storage/sqlite/database.ts";
import { createKey } from "../../src/storage/sqlite/keys.ts";

/** A key, as `keys create --json` prints it. */
export interface MintedKey {
  readonly id: string;
  readonly key: string;
  readonly plan: string;
}

/**
 * Creates a key in the store in a file, by the flags of `keys create`. It runs in this process: a command takes twenty
 * times as long.
 */
export function mintKey(db: string, flags: readonly string[]): MintedKey {
  const { values } = parseArgs({ args: [...flags], options: keyFlags });
  const plan = (values.plan ?? "business") as Plan;
  const nowMs = Date.now();
  const key = newKey({
    id: mintKeyId(randomBytes),
    name: values.name ?? "",
    plan,
    customQuota:
      plan === "enterprise"
        ? { perMinute: Number(values["per-minute"]), perDay: Number(values["per-day"]) }
        : undefined,
    scopes: (values.scope ?? scopes) as Scope[],
    createdAtMs: nowMs,
    expiresAtMs: values["expires-in"] === undefined ? undefined : nowMs + (parseDuration(values["expires-in"]) ?? 0),
  });
  const secret = mintSecret(randomBytes);
  const connection = openDatabase(prepareDatabase(db));
  createKey(connection, key, hashSecret(secret));
  connection.close();
  return { id: key.id, key: secret, plan };
}

const keyFlags = {
  plan: { type: "string" },
  name: { type: "string" },
  "per-minute": { type: "string" },
  "per-day": { type: "string" },
  scope: { type: "string", multiple: true },
  "expires-in": { type: "string" },
} as const;
