import type { Key, Plan, Scope } from "../domain/key.ts";
import type { Ban, Usage, Window } from "../domain/limits.ts";
import type { KeyUsage } from "../domain/store.ts";
import type { DeliveryAttempt, PauseReason, Webhook, WebhookProgress } from "../domain/webhook.ts";

/** A number that may be absent, as databases keep it: an integer, or NULL. */
export function toNullable(value: number | undefined): bigint | null {
  return value === undefined ? null : BigInt(value);
}

/** Reads what `toNullable` has written. */
export function fromNullable(value: bigint | null): number | undefined {
  return value === null ? undefined : Number(value);
}

/** The columns of a key that every backend keeps alike. `last_used_at_ms` is that of its usage. */
export interface KeyColumns {
  readonly id: string;
  readonly name: string;
  readonly per_minute: bigint | null;
  readonly per_day: bigint | null;
  readonly created_at_ms: bigint;
  readonly expires_at_ms: bigint | null;
  readonly revoked_at_ms: bigint | null;
  readonly unbans: bigint;
  readonly last_used_at_ms: bigint | null;
}

/** The key of a row, with what each backend keeps in its own way. */
export function keyFromColumns(
  row: KeyColumns,
  { plan, scopes }: { readonly plan: Plan; readonly scopes: readonly string[] },
): Key {
  const { per_minute: perMinute, per_day: perDay } = row;
  return {
    id: row.id,
    name: row.name,
    plan,
    customQuota: perMinute === null ? undefined : { perMinute: Number(perMinute), perDay: Number(perDay) },
    scopes: scopes as Scope[],
    createdAtMs: Number(row.created_at_ms),
    expiresAtMs: fromNullable(row.expires_at_ms),
    lastUsedAtMs: fromNullable(row.last_used_at_ms),
    revokedAtMs: fromNullable(row.revoked_at_ms),
    unbans: Number(row.unbans),
  };
}

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

/** `calls` are the deprecated calls of the key of `row`. */
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

/** The columns of a webhook that every backend keeps alike. */
export interface WebhookColumns {
  readonly id: string;
  readonly url: string;
  readonly crossing: bigint | null;
  readonly created_at_ms: bigint;
  readonly secret: string;
  readonly former_secret: string | null;
  readonly former_secret_ends_ms: bigint | null;
  readonly paused_at_ms: bigint | null;
  readonly position: bigint;
  readonly delivering_up_to: bigint | null;
  readonly failures: bigint;
  readonly failing_since_ms: bigint | null;
  readonly next_attempt_at_ms: bigint | null;
}

/** The webhook of a row, with what each backend keeps in its own way. */
export function webhookFromColumns(
  row: WebhookColumns,
  { petIds, pauseReason }: { readonly petIds: readonly bigint[]; readonly pauseReason: PauseReason | null },
): Webhook {
  const { former_secret: former, former_secret_ends_ms: formerEnds } = row;
  return {
    id: row.id,
    url: row.url,
    filter: { petIds, crossing: row.crossing ?? undefined },
    createdAtMs: Number(row.created_at_ms),
    secret: row.secret,
    formerSecret: former === null ? undefined : { secret: former, endsAtMs: Number(formerEnds) },
    paused: pauseReason === null ? undefined : { reason: pauseReason, atMs: Number(row.paused_at_ms) },
    progress: {
      position: row.position,
      deliveringUpTo: row.delivering_up_to ?? undefined,
      failures: Number(row.failures),
      failingSinceMs: fromNullable(row.failing_since_ms),
      nextAttemptAtMs: fromNullable(row.next_attempt_at_ms),
    },
  };
}

/** The values of the columns `position` to `next_attempt_at_ms` of a webhook. */
export function progressColumns(progress: WebhookProgress): (bigint | null)[] {
  return [
    progress.position,
    progress.deliveringUpTo ?? null,
    BigInt(progress.failures),
    toNullable(progress.failingSinceMs),
    toNullable(progress.nextAttemptAtMs),
  ];
}

/** An attempt to deliver. */
export interface AttemptRow {
  readonly delivery_id: string;
  readonly at_ms: bigint;
  readonly duration_ms: bigint;
  readonly changes: bigint;
  readonly status: bigint | null;
  readonly fault: string | null;
}

export function attemptFromRow(row: AttemptRow): DeliveryAttempt {
  return {
    deliveryId: row.delivery_id,
    atMs: Number(row.at_ms),
    durationMs: Number(row.duration_ms),
    changes: Number(row.changes),
    status: fromNullable(row.status),
    fault: row.fault ?? undefined,
  };
}

/**
 * Writes a result as JSON, to be kept under its idempotency key. A bigint becomes `{"int64": "5"}`. No result has a
 * field of this name.
 */
export function writeResult(result: unknown): string {
  return JSON.stringify(result, (_, value) => (typeof value === "bigint" ? { int64: String(value) } : value));
}

/** Reads what `writeResult` has written. */
export function parseResult<T>(json: string): T {
  return JSON.parse(json, (_, value) => (typeof value?.int64 === "string" ? BigInt(value.int64) : value)) as T;
}
