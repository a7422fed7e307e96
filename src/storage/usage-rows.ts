import type { Ban } from "../domain/ban.ts";
import type { KeyUsage } from "../domain/store/usage-store.ts";
import type { Usage, Window } from "../domain/usage.ts";

/** What a key has used, as every backend keeps it. */
export interface UsageRow {
  readonly key_id: string;
  readonly minute_opened_at_ms: bigint | null;
  readonly minute_count: bigint | null;
  readonly day_opened_at_ms: bigint | null;
  readonly day_count: bigint | null;
  readonly refusals_opened_at_ms: bigint | null;
  readonly refusals_count: bigint | null;
  readonly ban_step: bigint | null;
  readonly ban_ends_at_ms: bigint | null;
  readonly unbans: bigint;
  readonly last_used_at_ms: bigint;
}

/** When a key last called a deprecated method. */
export interface DeprecatedCallRow {
  readonly key_id: string;
  readonly method: string;
  readonly last_called_at_ms: bigint;
}

/** `calls` are those of the key. */
export function keyUsageFromRows(row: UsageRow, calls: readonly DeprecatedCallRow[]): KeyUsage {
  return {
    keyId: row.key_id,
    usage: usageFromRow(row),
    lastUsedAtMs: Number(row.last_used_at_ms),
    deprecatedCalls: new Map(calls.map((call) => [call.method, Number(call.last_called_at_ms)])),
  };
}

export function usageFromRow(row: UsageRow): Usage {
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
