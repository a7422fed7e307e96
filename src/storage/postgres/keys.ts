import { isDeepStrictEqual } from "node:util";
import { type FoundKey, foundKey, type Key, type KeySettings, type Plan, settingsOf } from "../../domain/key.ts";
import type { KeyCounts, KeyCreation, KeyOutcome } from "../../domain/store.ts";
import { fromNullable, type KeyColumns, keyFromColumns, toNullable } from "../rows.ts";
import type { Queryable } from "./connection/connection.ts";

interface KeyRow extends KeyColumns {
  readonly plan: Plan;
  readonly scopes: string[];
}

const columns = `keys.id, keys.name, keys.plan, keys.per_minute, keys.per_day, keys.scopes, keys.created_at_ms,
  keys.expires_at_ms, keys.revoked_at_ms, keys.unbans, usage.last_used_at_ms`;

/** Inserts a key with its secret, both or none of them. */
export async function createKey(connection: Queryable, key: Key, secretHash: Uint8Array): Promise<KeyCreation> {
  const inserted = await connection.query(
    `WITH key AS (
       INSERT INTO keys (id, name, plan, per_minute, per_day, scopes, created_at_ms, expires_at_ms, revoked_at_ms, unbans)
       SELECT $1, $2, $3, $4, $5, $6, $7, $8, $9, $10 WHERE NOT EXISTS (SELECT 1 FROM secrets WHERE hash = $11)
       ON CONFLICT (id) DO NOTHING RETURNING id
     )
     INSERT INTO secrets (hash, key_id) SELECT $11, id FROM key RETURNING key_id`,
    key.id,
    key.name,
    key.plan,
    toNullable(key.customQuota?.perMinute),
    toNullable(key.customQuota?.perDay),
    key.scopes,
    BigInt(key.createdAtMs),
    toNullable(key.expiresAtMs),
    toNullable(key.revokedAtMs),
    BigInt(key.unbans),
    secretHash,
  );
  return inserted.length === 0 ? "taken" : "created";
}

/** Whether a key has a secret, live or not. */
async function hasSecret(connection: Queryable, secretHash: Uint8Array): Promise<boolean> {
  return (await connection.query(`SELECT 1 FROM secrets WHERE hash = $1`, secretHash)).length > 0;
}

/** Finds the key of a secret, live or not. */
export async function findKey(connection: Queryable, secretHash: Uint8Array): Promise<FoundKey | undefined> {
  const [row] = await connection.query<KeyRow & { secret_expires_at_ms: bigint | null }>(
    `SELECT ${columns}, secrets.expires_at_ms AS secret_expires_at_ms
     FROM secrets JOIN keys ON keys.id = secrets.key_id LEFT JOIN usage ON usage.key_id = keys.id
     WHERE secrets.hash = $1`,
    secretHash,
  );
  return row && foundKey(keyFromRow(row), fromNullable(row.secret_expires_at_ms));
}

export async function getKey(connection: Queryable, id: string): Promise<Key | undefined> {
  const [row] = await connection.query<KeyRow>(
    `SELECT ${columns} FROM keys LEFT JOIN usage ON usage.key_id = keys.id WHERE keys.id = $1`,
    id,
  );
  return row && keyFromRow(row);
}

export async function listKeys(connection: Queryable): Promise<Key[]> {
  const rows = await connection.query<KeyRow>(
    `SELECT ${columns} FROM keys LEFT JOIN usage ON usage.key_id = keys.id ORDER BY keys.number`,
  );
  return rows.map(keyFromRow);
}

export async function listOldSecretEnds(connection: Queryable, id: string, atMs: number): Promise<number[]> {
  const rows = await connection.query<{ readonly end_ms: bigint }>(
    `SELECT least(secrets.expires_at_ms, keys.expires_at_ms) AS end_ms
     FROM secrets JOIN keys ON keys.id = secrets.key_id
     WHERE key_id = $1 AND revoked_at_ms IS NULL AND secrets.expires_at_ms IS NOT NULL
       AND least(secrets.expires_at_ms, keys.expires_at_ms) > $2
     ORDER BY end_ms`,
    id,
    BigInt(atMs),
  );
  return rows.map(({ end_ms: endMs }) => Number(endMs));
}

export async function countKeys(connection: Queryable, atMs: number): Promise<KeyCounts> {
  const rows = await connection.query<{ readonly plan: Plan; readonly live: bigint }>(
    `SELECT plan, count(*) AS live FROM keys
     WHERE revoked_at_ms IS NULL AND coalesce(expires_at_ms > $1, true) GROUP BY plan`,
    BigInt(atMs),
  );
  const counts = rows.map(({ plan, live }): [Plan, number] => [plan, Number(live)]);
  return { free: 0, pro: 0, business: 0, enterprise: 0, ...Object.fromEntries(counts) };
}

/*
 * Each change below locks the key's row first. To be called in a transaction.
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

function keyFromRow(row: KeyRow): Key {
  return keyFromColumns(row, row);
}
