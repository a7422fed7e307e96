import type { Usage } from "../../domain/limits.ts";
import type { CountedUsage, KeyUsage, UsageSave } from "../../domain/store.ts";
import { isSameUsage, mergeCounted } from "../../domain/usage-merge.ts";
import { type DeprecatedCallRow, keyUsageFromRows, toNullable, type UsageRow, usageFromRow } from "../rows.ts";
import type { Connection } from "./connection.ts";

export function loadUsage(connection: Connection, keyId: string): Usage | undefined {
  const row = connection.get<UsageRow>(`SELECT * FROM usage WHERE key_id = ?`, keyId);
  return row && usageFromRow(row);
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
