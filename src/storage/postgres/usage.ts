import type { Usage } from "../../domain/limits.ts";
import type { CountedUsage, KeyUsage, UsageSave } from "../../domain/store.ts";
import { isSameUsage, mergeCounted } from "../../domain/usage-merge.ts";
import { type DeprecatedCallRow, keyUsageFromRows, toNullable, type UsageRow, usageFromRow } from "../rows.ts";
import type { Queryable } from "./connection/connection.ts";

const columns = `key_id, minute_opened_at_ms, minute_count, day_opened_at_ms, day_count, refusals_opened_at_ms,
  refusals_count, ban_step, ban_ends_at_ms, unbans, last_used_at_ms`;

const callColumns = "key_id, method, last_called_at_ms";

export async function loadUsage(connection: Queryable, keyId: string): Promise<Usage | undefined> {
  const [row] = await connection.query<UsageRow>(`SELECT ${columns} FROM usage WHERE key_id = $1`, keyId);
  return row && usageFromRow(row);
}

export async function getUsage(connection: Queryable, keyId: string): Promise<KeyUsage | undefined> {
  const [[row], calls] = await Promise.all([
    connection.query<UsageRow>(`SELECT ${columns} FROM usage WHERE key_id = $1`, keyId),
    connection.query<DeprecatedCallRow>(
      `SELECT ${callColumns} FROM deprecated_calls WHERE key_id = $1 ORDER BY method`,
      keyId,
    ),
  ]);
  return row && keyUsageFromRows(row, calls);
}

export async function listUsage(connection: Queryable): Promise<KeyUsage[]> {
  const [rows, all] = await Promise.all([
    connection.query<UsageRow>(`SELECT ${columns} FROM usage`),
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
  const rows = await connection.query<UsageRow>(`SELECT ${columns} FROM usage WHERE key_id = ANY ($1)`, keyIds);
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
    `INSERT INTO usage (${columns})
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
