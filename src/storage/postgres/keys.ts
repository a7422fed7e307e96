import { isDeepStrictEqual } from "node:util";
import { type FoundKey, foundKey, type Key, type KeySettings, type Plan, settingsOf } from "../../domain/key.ts";
import type { Usage } from "../../domain/limits.ts";
import type { CountedUsage, KeyCounts, KeyCreation, KeyOutcome, KeyUsage, UsageSave } from "../../domain/store.ts";
import { isSameUsage, mergeCounted } from "../../domain/usage-merge.ts";
import {
  type DeprecatedCallRow,
  fromNullable,
  type KeyColumns,
  keyFromColumns,
  keyUsageFromRows,
  toNullable,
  type UsageRow,
  usageFromRow,
} from "../rows.ts";
import type { Queryable } from "./connection/connection.ts";

interface KeyRow extends KeyColumns {
  readonly plan: Plan;
  readonly scopes: string[];
}

const keyColumns = `keys.id, keys.name, keys.plan, keys.per_minute, keys.per_day, keys.scopes, keys.created_at_ms,
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

/** Finds the key of a secret, live or not. */
export async function findKey(connection: Queryable, secretHash: Uint8Array): Promise<FoundKey | undefined> {
  const [row] = await connection.query<KeyRow & { secret_expires_at_ms: bigint | null }>(
    `SELECT ${keyColumns}, secrets.expires_at_ms AS secret_expires_at_ms
     FROM secrets JOIN keys ON keys.id = secrets.key_id LEFT JOIN usage ON usage.key_id = keys.id
     WHERE secrets.hash = $1`,
    secretHash,
  );
  return row && foundKey(keyFromRow(row), fromNullable(row.secret_expires_at_ms));
}

export async function getKey(connection: Queryable, id: string): Promise<Key | undefined> {
  const [row] = await connection.query<KeyRow>(
    `SELECT ${keyColumns} FROM keys LEFT JOIN usage ON usage.key_id = keys.id WHERE keys.id = $1`,
    id,
  );
  return row && keyFromRow(row);
}

export async function listKeys(connection: Queryable): Promise<Key[]> {
  const rows = await connection.query<KeyRow>(
    `SELECT ${keyColumns} FROM keys LEFT JOIN usage ON usage.key_id = keys.id ORDER BY keys.number`,
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

/** Adds a secret to a key. The other secrets end at the given time, unless they end sooner. */
export function rotateKey(
  connection: Queryable,
  id: string,
  secretHash: Uint8Array,
  oldSecretsExpireAtMs: number,
): Promise<KeyOutcome> {
  return changeKey(connection, id, async () => {
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

/** Whether a key has a secret, live or not. */
async function hasSecret(connection: Queryable, secretHash: Uint8Array): Promise<boolean> {
  return (await connection.query(`SELECT 1 FROM secrets WHERE hash = $1`, secretHash)).length > 0;
}

export function revokeKey(connection: Queryable, id: string, revokedAtMs: number): Promise<KeyOutcome> {
  return changeKey(connection, id, async () => {
    await connection.query(`UPDATE keys SET revoked_at_ms = $1 WHERE id = $2`, BigInt(revokedAtMs), id);
    return "done";
  });
}

export function unbanKey(connection: Queryable, id: string): Promise<KeyOutcome> {
  return changeKey(connection, id, async () => {
    await connection.query(`UPDATE keys SET unbans = unbans + 1 WHERE id = $1`, id);
    return "done";
  });
}

/** Changes the settings of a key, unless they differ from those of `former` by now. */
export function updateKey(connection: Queryable, former: Key, settings: KeySettings): Promise<KeyOutcome> {
  return changeKey(connection, former.id, async (key) => {
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

/**
 * Changes a key that is not revoked, and reads it again. Locks its row first. To be called in a transaction. `apply`
 * returns the outcome.
 */
async function changeKey(
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

const usageColumns = `key_id, minute_opened_at_ms, minute_count, day_opened_at_ms, day_count, refusals_opened_at_ms,
  refusals_count, ban_step, ban_ends_at_ms, unbans, last_used_at_ms`;

const callColumns = "key_id, method, last_called_at_ms";

export async function loadUsage(connection: Queryable, keyId: string): Promise<Usage | undefined> {
  const [row] = await connection.query<UsageRow>(`SELECT ${usageColumns} FROM usage WHERE key_id = $1`, keyId);
  return row && usageFromRow(row);
}

export async function getUsage(connection: Queryable, keyId: string): Promise<KeyUsage | undefined> {
  const [[row], calls] = await Promise.all([
    connection.query<UsageRow>(`SELECT ${usageColumns} FROM usage WHERE key_id = $1`, keyId),
    connection.query<DeprecatedCallRow>(
      `SELECT ${callColumns} FROM deprecated_calls WHERE key_id = $1 ORDER BY method`,
      keyId,
    ),
  ]);
  return row && keyUsageFromRows(row, calls);
}

export async function listUsage(connection: Queryable): Promise<KeyUsage[]> {
  const [rows, all] = await Promise.all([
    connection.query<UsageRow>(`SELECT ${usageColumns} FROM usage`),
    connection.query<DeprecatedCallRow>(`SELECT ${callColumns} FROM deprecated_calls ORDER BY method`),
  ]);
  const calls = Map.groupBy(all, (row) => row.key_id);
  return rows.map((row) => keyUsageFromRows(row, calls.get(row.key_id) ?? []));
}

/**
 * See `UsageStore`. The rows are locked in the order of their keys, so that two servers never wait for each other. To be
 * called in a transaction.
 */
export async function saveUsage(
  connection: Queryable,
  { server, number, usages }: UsageSave,
): Promise<Map<string, Usage>> {
  const keyIds = [...new Set(usages.map(({ keyId }) => keyId))].sort();
  const isNew = await recordSave(connection, server, number);
  const known = await connection.query<{ id: string }>(
    `SELECT id FROM keys WHERE id = ANY ($1) ORDER BY id FOR NO KEY UPDATE`,
    keyIds,
  );
  const knownIds = new Set(known.map(({ id }) => id));
  const rows = await connection.query<UsageRow>(`SELECT ${usageColumns} FROM usage WHERE key_id = ANY ($1)`, keyIds);
  const stored = new Map(rows.map((row) => [row.key_id, keyUsageFromRows(row, [])]));
  if (isNew) {
    const ofKnownKeys = usages.filter(({ keyId }) => knownIds.has(keyId));
    for (const counted of ofKnownKeys) {
      stored.set(counted.keyId, mergeCounted(stored.get(counted.keyId), counted));
    }
    await writeUsages(connection, [...stored.values()]);
    await recordDeprecatedCalls(connection, ofKnownKeys);
  }
  const differing = new Map<string, Usage>();
  for (const { keyId, usage } of usages) {
    const now = stored.get(keyId)?.usage;
    if (now !== undefined && !isSameUsage(now, usage)) {
      differing.set(keyId, now);
    }
  }
  return differing;
}

/** A server that has not saved for this long is forgotten: it has ended. */
const rememberedFor = "1 day";

/** Records a save. Returns false where the server repeats a save that has taken effect. */
async function recordSave(connection: Queryable, server: string, number: number): Promise<boolean> {
  const recorded = await connection.query(
    `INSERT INTO usage_saves AS last (server, number, saved_at) VALUES ($1, $2, now())
     ON CONFLICT (server) DO UPDATE SET number = excluded.number, saved_at = excluded.saved_at
     WHERE excluded.number > last.number
     RETURNING server`,
    server,
    BigInt(number),
  );
  if (number === 1 && recorded.length > 0) {
    await connection.query(`DELETE FROM usage_saves WHERE saved_at < now() - interval '${rememberedFor}'`);
  }
  return recorded.length > 0;
}

async function writeUsages(connection: Queryable, rows: readonly KeyUsage[]): Promise<void> {
  const column = (read: (usage: KeyUsage) => number | undefined) => rows.map((row) => toNullable(read(row)));
  await connection.query(
    `INSERT INTO usage (${usageColumns})
     SELECT * FROM unnest($1::text[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[], $7::bigint[],
       $8::bigint[], $9::bigint[], $10::bigint[], $11::bigint[])
     ON CONFLICT (key_id) DO UPDATE SET
       minute_opened_at_ms = excluded.minute_opened_at_ms, minute_count = excluded.minute_count,
       day_opened_at_ms = excluded.day_opened_at_ms, day_count = excluded.day_count,
       refusals_opened_at_ms = excluded.refusals_opened_at_ms, refusals_count = excluded.refusals_count,
       ban_step = excluded.ban_step, ban_ends_at_ms = excluded.ban_ends_at_ms, unbans = excluded.unbans,
       last_used_at_ms = excluded.last_used_at_ms`,
    rows.map(({ keyId }) => keyId),
    column(({ usage }) => usage.minute?.openedAtMs),
    column(({ usage }) => usage.minute?.count),
    column(({ usage }) => usage.day?.openedAtMs),
    column(({ usage }) => usage.day?.count),
    column(({ usage }) => usage.refusals?.openedAtMs),
    column(({ usage }) => usage.refusals?.count),
    column(({ usage }) => usage.ban?.step),
    column(({ usage }) => usage.ban?.endsAtMs),
    column(({ usage }) => usage.unbans),
    column(({ lastUsedAtMs }) => lastUsedAtMs),
  );
}

async function recordDeprecatedCalls(connection: Queryable, usages: readonly CountedUsage[]): Promise<void> {
  const calls = usages.flatMap(({ keyId, deprecatedCalls = [] }) =>
    [...deprecatedCalls].map(([method, atMs]) => ({ keyId, method, atMs: BigInt(atMs) })),
  );
  if (calls.length > 0) {
    await connection.query(
      `INSERT INTO deprecated_calls AS known (key_id, method, last_called_at_ms)
       SELECT key_id, method, max(at) FROM unnest($1::text[], $2::text[], $3::bigint[]) AS call (key_id, method, at)
       GROUP BY key_id, method ORDER BY key_id, method
       ON CONFLICT (key_id, method) DO UPDATE
         SET last_called_at_ms = greatest(known.last_called_at_ms, excluded.last_called_at_ms)`,
      calls.map(({ keyId }) => keyId),
      calls.map(({ method }) => method),
      calls.map(({ atMs }) => atMs),
    );
  }
}
