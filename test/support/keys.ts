import { randomBytes } from "node:crypto";
import { parseArgs } from "node:util";
import { parseDuration } from "../../src/cli/arguments.ts";
import {
  hashSecret,
  type Key,
  mintKeyId,
  mintSecret,
  newKey,
  type Plan,
  type Scope,
  scopes,
} from "../../src/domain/key.ts";
import { isPostgresUrl } from "../../src/domain/store.ts";
import { openPostgresStore } from "../../src/storage/postgres/store.ts";
import { openDatabase, prepareDatabase } from "../../src/storage/sqlite/database.ts";
import { createKey } from "../../src/storage/sqlite/keys.ts";

/** A key, as `keys create --json` prints it. */
export interface MintedKey {
  readonly id: string;
  readonly key: string;
  readonly plan: string;
}

/**
 * Creates a key in a store, by the flags of `keys create`. It runs in this process: a command takes twenty times as long.
 */
export async function mintKey(db: string, flags: readonly string[]): Promise<MintedKey> {
  const { key, secret } = newKeyBy(flags);
  if (isPostgresUrl(db)) {
    const store = await openPostgresStore(db);
    await store.createKey(key, hashSecret(secret));
    await store.close();
  } else {
    const connection = openDatabase(prepareDatabase(db));
    createKey(connection, key, hashSecret(secret));
    connection.close();
  }
  return { id: key.id, key: secret, plan: key.plan };
}

function newKeyBy(flags: readonly string[]): { readonly key: Key; readonly secret: string } {
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
  return { key, secret: mintSecret(randomBytes) };
}

const keyFlags = {
  plan: { type: "string" },
  name: { type: "string" },
  "per-minute": { type: "string" },
  "per-day": { type: "string" },
  scope: { type: "string", multiple: true },
  "expires-in": { type: "string" },
} as const;
