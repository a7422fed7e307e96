import type { Ban } from "../../domain/ban.ts";
import type { Usage } from "../../domain/limits.ts";
import type { KeyUsage } from "../../domain/store.ts";
import type { Window } from "../../domain/window.ts";
import type { Connection } from "./connection.ts";
import { toNullable } from "./nullable.ts";

interface UsageRow {
  readonly minute_opened_at_ms: bigint | null;
  readonly minute_count: bigint | null;
  readonly day_opened_at_ms: bigint | null;
  readonly day_count: bigint | null;
  readonly refusals_opened_at_ms: bigint | null;
  readonly refusals_count: bigint | null;
  readonly ban_step: bigint | null;
  readonly ban_ends_at_ms: bigint | null;
  readonly unbans: bigint;
}

export function loadUsage(connection: Connection, keyId: string): Usage | undefined {
  const row = connection.get<UsageRow>(`SELECT * FROM usage WHERE key_id = ?`, keyId);
  return row && usageFromRow(row);
}

export function saveUsage(connection: Connection, usages: readonly KeyUsage[]): void {
  connection.atomically(() => {
    for (const usage of usages) {
      saveKeyUsage(connection, usage);
    }
  });
}

/** All that is known of the use of a key. */
export function getUsage(connection: Connection, keyId: string): KeyUsage | undefined {
  const row = connection.get<KeyUsageRow>(`SELECT * FROM usage WHERE key_id = ?`, keyId);
  const calls = connection.all<DeprecatedCallRow>(
    `SELECT * FROM deprecated_calls WHERE key_id = ? ORDER BY method`,
    keyId,
  );
  return row && keyUsageFromRows(row, calls);
}

/** The usage of all keys that have any. */
export function listUsage(connection: Connection): KeyUsage[] {
  const rows = connection.all<KeyUsageRow>(`SELECT * FROM usage`);
  const calls = Map.groupBy(
    connection.all<DeprecatedCallRow>(`SELECT * FROM deprecated_calls ORDER BY method`),
    (row) => row.key_id,
  );
  return rows.map((row) => keyUsageFromRows(row, calls.get(row.key_id) ?? []));
}

interface KeyUsageRow extends UsageRow {
  readonly key_id: string;
  readonly last_used_at_ms: bigint;
}

interface DeprecatedCallRow {
  readonly key_id: string;
  readonly method: string;
  readonly last_called_at_ms: bigint;
}

function saveKeyUsage(connection: Connection, { keyId, usage, lastUsedAtMs, deprecatedCalls }: KeyUsage): void {
  connection.run(
    `INSERT OR REPLACE INTO usage
       (key_id, minute_opened_at_ms, minute_count, day_opened_at_ms, day_count, refusals_opened_at_ms, refusals_count,
        ban_step, ban_ends_at_ms, unbans, last_used_at_ms)
     SELECT id, ?, ?, ?, ?, ?, ?, ?, ?, ?, ? FROM keys WHERE id = ?`,
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
    keyId,
  );
  for (const [method, lastCalledAtMs] of deprecatedCalls ?? []) {
    saveDeprecatedCall(connection, { keyId, method, lastCalledAtMs });
  }
}

function saveDeprecatedCall(
  connection: Connection,
  { keyId, method, lastCalledAtMs }: { keyId: string; method: string; lastCalledAtMs: number },
): void {
  connection.run(
    `INSERT OR REPLACE INTO deprecated_calls (key_id, method, last_called_at_ms) SELECT id, ?, ? FROM keys WHERE id = ?`,
    method,
    BigInt(lastCalledAtMs),
    keyId,
  );
}

function keyUsageFromRows(row: KeyUsageRow, calls: readonly DeprecatedCallRow[]): KeyUsage {
  return {
    keyId: row.key_id,
    usage: usageFromRow(row),
    lastUsedAtMs: Number(row.last_used_at_ms),
    deprecatedCalls: new Map(calls.map((call) => [call.method, Number(call.last_called_at_ms)])),
  };
}

function usageFromRow(row: UsageRow): Usage {
  return {
    minute: windowFromColumns(row.minute_opened_at_ms, row.minute_count),
    day: windowFromColumns(row.day_opened_at_ms, row.day_count),
    refusals: windowFromColumns(row.refusals_opened_at_ms, row.refusals_count),
    ban: banFromColumns(row.ban_step, row.ban_ends_at_ms),
    unbans: Number(row.unbans),
  };
}

function windowFromColumns(openedAtMs: bigint | null, count: bigint | null): Window | undefined {
  return openedAtMs === null ? undefined : { openedAtMs: Number(openedAtMs), count: Number(count) };
}

function banFromColumns(step: bigint | null, endsAtMs: bigint | null): Ban | undefined {
  return step === null ? undefined : { step: Number(step), endsAtMs: Number(endsAtMs) };
}
