import { isDeepStrictEqual } from "node:util";
import { type Key, type KeySettings, settingsOf } from "../../domain/key.ts";
import type { KeyOutcome } from "../../domain/store/key-store.ts";
import { toNullable } from "../rows.ts";
import type { Queryable } from "./connection/connection.ts";
import { getKey, hasSecret } from "./keys.ts";

/*
 * Each change locks the key's row first. All of them are to be called in a transaction.
 */

/** Adds a secret to a key. The other secrets end at the given time, unless they end sooner. */
export function rotateKey(
  connection: Queryable,
  id: string,
  secretHash: Uint8Array,
  oldSecretsExpireAtMs: number,
): Promise<KeyOutcome> {
  return change(connection, id, async () => {
    if (await hasSecret(connection, secretHash)) {
      return "taken";
    }
    await connection.query(
      `UPDATE secrets SET expires_at_ms = least(expires_at_ms, $1) WHERE key_id = $2`,
      BigInt(oldSecretsExpireAtMs),
      id,
    );
    await connection.query(`INSERT INTO secrets (hash, key_id) VALUES ($1, $2)`, secretHash, id);
    return "done";
  });
}

export function revokeKey(connection: Queryable, id: string, revokedAtMs: number): Promise<KeyOutcome> {
  return change(connection, id, async () => {
    await connection.query(`UPDATE keys SET revoked_at_ms = $1 WHERE id = $2`, BigInt(revokedAtMs), id);
    return "done";
  });
}

export function unbanKey(connection: Queryable, id: string): Promise<KeyOutcome> {
  return change(connection, id, async () => {
    await connection.query(`UPDATE keys SET unbans = unbans + 1 WHERE id = $1`, id);
    return "done";
  });
}

/** Changes the settings of a key, unless they differ from those of `former` by now. */
export function updateKey(connection: Queryable, former: Key, settings: KeySettings): Promise<KeyOutcome> {
  return change(connection, former.id, async (key) => {
    if (!isDeepStrictEqual(settingsOf(key), settingsOf(former))) {
      return "stale";
    }
    await connection.query(
      `UPDATE keys SET name = $1, plan = $2, per_minute = $3, per_day = $4, scopes = $5, expires_at_ms = $6
       WHERE id = $7`,
      settings.name,
      settings.plan,
      toNullable(settings.customQuota?.perMinute),
      toNullable(settings.customQuota?.perDay),
      settings.scopes,
      toNullable(settings.expiresAtMs),
      key.id,
    );
    return "done";
  });
}

/** Changes a key that is not revoked, and reads it again. `apply` returns the outcome. */
async function change(
  connection: Queryable,
  id: string,
  apply: (key: Key) => Promise<"done" | "stale" | "taken">,
): Promise<KeyOutcome> {
  await connection.query(`SELECT 1 FROM keys WHERE id = $1 FOR UPDATE`, id);
  const key = await getKey(connection, id);
  if (key === undefined) {
    return { outcome: "unknown" };
  }
  if (key.revokedAtMs !== undefined) {
    return { outcome: "revoked", key };
  }
  const outcome = await apply(key);
  return { outcome, key: (await getKey(connection, id)) ?? key };
}
