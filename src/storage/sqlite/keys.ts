import { isDeepStrictEqual } from "node:util";
import { type FoundKey, foundKey, type Key, type KeySettings, type Plan, plans, settingsOf } from "../../domain/key.ts";
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
import { type Connection, readEnumText, readStringArray } from "./connection.ts";

interface KeyRow extends KeyColumns {
  readonly plan: string;
  readonly scopes: string;
}

/** Inserts a key with its secret. */
export function createKey(connection: Connection, key: Key, secretHash: Uint8Array): KeyCreation {
  return connection.atomically(() => {
    if (getKey(connection, key.id) !== undefined || hasSecret(connection, secretHash)) {
      return "taken";
    }
    connection.run(
      `INSERT INTO keys (id, name, plan, per_minute, per_day, scopes, created_at_ms, expires_at_ms, revoked_at_ms,
         unbans)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
      key.id,
      key.name,
      key.plan,
      toNullable(key.customQuota?.perMinute),
      toNullable(key.customQuota?.perDay),
      JSON.stringify(key.scopes),
      BigInt(key.createdAtMs),
      toNullable(key.expiresAtMs),
      toNullable(key.revokedAtMs),
      BigInt(key.unbans),
    );
    connection.run(`INSERT INTO secrets (hash, key_id) VALUES (?, ?)`, secretHash, key.id);
    return "created";
  });
}

/** Adds a secret to a key. The other secrets end at the given time, unless they end sooner. */
export function rotateKey(
  connection: Connection,
  id: string,
  secretHash: Uint8Array,
  oldSecretsExpireAtMs: number,
): KeyOutcome {
  return changeKey(connection, id, () => {
    if (hasSecret(connection, secretHash)) {
      return "taken";
    }
    connection.run(
      `UPDATE secrets SET expires_at_ms = ifnull(min(expires_at_ms, ?), ?) WHERE key_id = ?`,
      BigInt(oldSecretsExpireAtMs),
      BigInt(oldSecretsExpireAtMs),
      id,
    );
    connection.run(`INSERT INTO secrets (hash, key_id) VALUES (?, ?)`, secretHash, id);
    return "done";
  });
}

export function revokeKey(connection: Connection, id: string, revokedAtMs: number): KeyOutcome {
  return changeKey(connection, id, () => {
    connection.run(`UPDATE keys SET revoked_at_ms = ? WHERE id = ?`, BigInt(revokedAtMs), id);
    return "done";
  });
}

export function unbanKey(connection: Connection, id: string): KeyOutcome {
  return changeKey(connection, id, () => {
    connection.run(`UPDATE keys SET unbans = unbans + 1 WHERE id = ?`, id);
    return "done";
  });
}

/** Changes the settings of a key, unless they differ from those of `former` by now. */
export function updateKey(connection: Connection, former: Key, settings: KeySettings): KeyOutcome {
  return changeKey(connection, former.id, (key) => {
    if (!isDeepStrictEqual(settingsOf(key), settingsOf(former))) {
      return "stale";
    }
    connection.run(
      `UPDATE keys SET name = ?, plan = ?, per_minute = ?, per_day = ?, scopes = ?, expires_at_ms = ? WHERE id = ?`,
      settings.name,
      settings.plan,
      toNullable(settings.customQuota?.perMinute),
      toNullable(settings.customQuota?.perDay),
      JSON.stringify(settings.scopes),
      toNullable(settings.expiresAtMs),
      key.id,
    );
    return "done";
  });
}

/** Changes a key that is not revoked, and reads it again. `apply` returns the outcome. */
function changeKey(connection: Connection, id: string, apply: (key: Key) => "done" | "stale" | "taken"): KeyOutcome {
  return connection.atomically(() => {
    const key = getKey(connection, id);
    if (key === undefined) {
      return { outcome: "unknown" };
    }
    if (key.revokedAtMs !== undefined) {
      return { outcome: "revoked", key };
    }
    return { outcome: apply(key), key: getKey(connection, id) ?? key };
  });
}

/** Whether a key has a secret, live or not. */
function hasSecret(connection: Connection, secretHash: Uint8Array): boolean {
  return connection.get(`SELECT 1 FROM secrets WHERE hash = ?`, secretHash) !== undefined;
}

/*
 * In joins a parameter is written `+?`. Otherwise SQLite plans the query again for each newly bound value, since the
 * best plan might depend on it (SQLITE_ENABLE_STAT4). That costs ten times as much as the look-up.
 */

/** Finds the key of a secret, live or not. */
export function findKey(connection: Connection, secretHash: Uint8Array): FoundKey | undefined {
  const row = connection.get<KeyRow & { secret_expires_at_ms: bigint | null }>(
    `SELECT keys.*, last_used_at_ms, secrets.expires_at_ms AS secret_expires_at_ms
     FROM secrets JOIN keys ON keys.id = secrets.key_id LEFT JOIN usage ON usage.key_id = keys.id
     WHERE secrets.hash = +?`,
    secretHash,
  );
  return row && foundKey(keyFromRow(row), fromNullable(row.secret_expires_at_ms));
}

export function getKey(connection: Connection, id: string): Key | undefined {
  const row = connection.get<KeyRow>(
    `SELECT keys.*, last_used_at_ms FROM keys LEFT JOIN usage ON usage.key_id = keys.id WHERE keys.id = +?`,
    id,
  );
  return row && keyFromRow(row);
}

export function listKeys(connection: Connection): Key[] {
  const rows = connection.all<KeyRow>(
    `SELECT keys.*, last_used_at_ms FROM keys LEFT JOIN usage ON usage.key_id = keys.id ORDER BY number`,
  );
  return rows.map(keyFromRow);
}

export function listOldSecretEnds(connection: Connection, id: string, atMs: number): number[] {
  const rows = connection.all<{ readonly end_ms: bigint }>(
    `SELECT min(secrets.expires_at_ms, ifnull(keys.expires_at_ms, secrets.expires_at_ms)) AS end_ms
     FROM secrets JOIN keys ON keys.id = secrets.key_id
     WHERE key_id = +? AND revoked_at_ms IS NULL AND end_ms > +? ORDER BY end_ms`,
    id,
    BigInt(atMs),
  );
  return rows.map(({ end_ms: endMs }) => Number(endMs));
}

/**
 * Counts the live keys. It reads all keys, which takes long where there are very many. So it keeps the counts until a
 * key is changed or expires.
 */
export class KeyCounter {
  #last: LiveKeys | undefined;

  /** `token` is another one once a program that counts no changes may have changed keys. To be called in a transaction. */
  count(connection: Connection, atMs: number, token: number | undefined): KeyCounts {
    const row = connection.get<{ readonly keys: bigint }>(`SELECT keys FROM change_counters`);
    const version = `${row?.keys} ${token}`;
    if (this.#last?.version !== version || atMs < this.#last.sinceMs || atMs >= this.#last.untilMs) {
      this.#last = countKeys(connection, atMs, version);
    }
    return this.#last.counts;
  }
}

/** Counts that are right from `sinceMs` on, and before `untilMs`, as long as the keys have this version. */
interface LiveKeys {
  readonly counts: KeyCounts;
  readonly version: string;
  readonly sinceMs: number;
  readonly untilMs: number;
}

function countKeys(connection: Connection, atMs: number, version: string): LiveKeys {
  const rows = connection.all<{ readonly plan: Plan; readonly live: bigint; readonly until_ms: bigint | null }>(
    `SELECT plan, count(*) AS live, min(expires_at_ms) AS until_ms FROM keys
     WHERE revoked_at_ms IS NULL AND ifnull(expires_at_ms > ?, true) GROUP BY plan`,
    BigInt(atMs),
  );
  return {
    counts: { free: 0, pro: 0, business: 0, enterprise: 0, ...Object.fromEntries(rows.map(toCount)) },
    version,
    sinceMs: atMs,
    untilMs: Math.min(...rows.map((row) => fromNullable(row.until_ms) ?? Infinity)),
  };
}

function toCount({ plan, live }: { readonly plan: Plan; readonly live: bigint }): [Plan, number] {
  return [plan, Number(live)];
}

function keyFromRow(row: KeyRow): Key {
  return keyFromColumns(row, { plan: readEnumText(row.plan, plans), scopes: readStringArray(row.scopes) });
}

export function loadUsage(connection: Connection, keyId: string): Usage | undefined {
  const row = connection.get<UsageRow>(`SELECT * FROM usage WHERE key_id = ?`, keyId);
  return row && usageFromRow(row);
}

export function getUsage(connection: Connection, keyId: string): KeyUsage | undefined {
  const row = connection.get<UsageRow>(`SELECT * FROM usage WHERE key_id = ?`, keyId);
  const calls = connection.all<DeprecatedCallRow>(
    `SELECT * FROM deprecated_calls WHERE key_id = ? ORDER BY method`,
    keyId,
  );
  return row && keyUsageFromRows(row, calls);
}

export function listUsage(connection: Connection): KeyUsage[] {
  const rows = connection.all<UsageRow>(`SELECT * FROM usage`);
  const calls = Map.groupBy(
    connection.all<DeprecatedCallRow>(`SELECT * FROM deprecated_calls ORDER BY method`),
    (row) => row.key_id,
  );
  return rows.map((row) => keyUsageFromRows(row, calls.get(row.key_id) ?? []));
}

/** See `UsageStore`. */
export function saveUsage(connection: Connection, { server, number, usages }: UsageSave): Map<string, Usage> {
  return connection.atomically(() => {
    const isNew = recordSave(connection, server, number);
    const differing = new Map<string, Usage>();
    for (const counted of usages) {
      const stored = isNew ? mergeIntoRow(connection, counted) : loadUsage(connection, counted.keyId);
      if (stored !== undefined && !isSameUsage(stored, counted.usage)) {
        differing.set(counted.keyId, stored);
      }
    }
    return differing;
  });
}

/** A server is forgotten once this many others have begun after it. It has ended: a file has one server at a time. */
const rememberedServers = 100;

/** Records a save. Returns false where the server repeats a save that has taken effect. */
function recordSave(connection: Connection, server: string, number: number): boolean {
  const sql = `SELECT number FROM usage_saves WHERE server = ?`;
  const last = connection.get<{ readonly number: bigint }>(sql, server);
  if (last !== undefined && number <= last.number) {
    return false;
  }
  if (last === undefined) {
    connection.run(`INSERT INTO usage_saves (server, number) VALUES (?, ?)`, server, BigInt(number));
    connection.run(
      `DELETE FROM usage_saves WHERE position <= (SELECT max(position) FROM usage_saves) - ?`,
      BigInt(rememberedServers),
    );
  } else {
    connection.run(`UPDATE usage_saves SET number = ? WHERE server = ?`, BigInt(number), server);
  }
  return true;
}

/** Returns what is stored then; undefined when there is no such key. */
function mergeIntoRow(connection: Connection, counted: CountedUsage): Usage | undefined {
  const { keyId, deprecatedCalls } = counted;
  if (connection.get(`SELECT 1 FROM keys WHERE id = ?`, keyId) === undefined) {
    return undefined;
  }
  const row = connection.get<UsageRow>(`SELECT * FROM usage WHERE key_id = ?`, keyId);
  const merged = mergeCounted(row && keyUsageFromRows(row, []), counted);
  writeUsage(connection, merged);
  for (const [method, lastCalledAtMs] of deprecatedCalls ?? []) {
    recordDeprecatedCall(connection, { keyId, method, lastCalledAtMs });
  }
  return merged.usage;
}

function writeUsage(connection: Connection, { keyId, usage, lastUsedAtMs }: KeyUsage): void {
  connection.run(
    `INSERT OR REPLACE INTO usage
       (key_id, minute_opened_at_ms, minute_count, day_opened_at_ms, day_count, refusals_opened_at_ms, refusals_count,
        ban_step, ban_ends_at_ms, unbans, last_used_at_ms)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    keyId,
    toNullable(usage.minute?.openedAtMs),
    toNullable(usage.minute?.count),
    toNullable(usage.day?.openedAtMs),
    toNullable(usage.day?.count),
    toNullable(usage.refusals?.openedAtMs),
    toNullable(usage.refusals?.count),
    toNullable(usage.ban?.step),
    toNullable(usage.ban?.endsAtMs),
    BigInt(usage.unbans),
    BigInt(lastUsedAtMs),
  );
}

function recordDeprecatedCall(
  connection: Connection,
  { keyId, method, lastCalledAtMs }: { keyId: string; method: string; lastCalledAtMs: number },
): void {
  connection.run(
    `INSERT INTO deprecated_calls (key_id, method, last_called_at_ms) VALUES (?, ?, ?)
     ON CONFLICT DO UPDATE SET last_called_at_ms = max(last_called_at_ms, excluded.last_called_at_ms)`,
    keyId,
    method,
    BigInt(lastCalledAtMs),
  );
}
