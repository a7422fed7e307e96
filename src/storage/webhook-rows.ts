import type { DeliveryAttempt, PauseReason, Webhook } from "../domain/webhook.ts";
import { fromNullable } from "./nullable.ts";

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
