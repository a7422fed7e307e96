import type { ProgressStep } from "../../domain/store.ts";
import {
  type DeliveryAttempt,
  keptAttempts,
  type PauseReason,
  type Webhook,
  type WebhookProgress,
} from "../../domain/webhook.ts";
import {
  type AttemptRow,
  attemptFromRow,
  progressColumns,
  toNullable,
  type WebhookColumns,
  webhookFromColumns,
} from "../rows.ts";
import type { Queryable } from "./connection/connection.ts";

interface WebhookRow extends WebhookColumns {
  readonly pet_ids: bigint[];
  readonly paused: PauseReason | null;
}

/** A pause, and the progress for which it is meant: see `WebhookStore`. */
interface WebhookPause {
  readonly reason: PauseReason;
  readonly atMs: number;
  readonly judged: WebhookProgress | undefined;
}

const columns = `id, url, pet_ids, crossing, created_at_ms, secret, former_secret, former_secret_ends_ms, paused,
  paused_at_ms, position, delivering_up_to, failures, failing_since_ms, next_attempt_at_ms`;

export async function createWebhook(connection: Queryable, { filter, progress, ...webhook }: Webhook): Promise<void> {
  await connection.query(
    `INSERT INTO webhooks (id, url, pet_ids, crossing, created_at_ms, secret, position, failures)
     VALUES ($1, $2, $3, $4, $5, $6, $7, 0)`,
    webhook.id,
    webhook.url,
    filter.petIds,
    filter.crossing ?? null,
    BigInt(webhook.createdAtMs),
    webhook.secret,
    progress.position,
  );
}

export async function listWebhooks(connection: Queryable): Promise<Webhook[]> {
  return (await connection.query<WebhookRow>(`SELECT ${columns} FROM webhooks ORDER BY number`)).map(webhookFromRow);
}

/**
 * How long a claim lasts, in milliseconds. After that, the next renewal of another server takes over the webhooks of a
 * killed one.
 */
export const webhookClaimMs = 6_000;

/**
 * See `WebhookStore`. Once the database's clock has been set back, claims last for too long. These are shortened: a
 * server that lives renews its claims, and those of a killed one run out as ever.
 */
export async function claimWebhooks(connection: Queryable, server: string): Promise<Webhook[]> {
  const rows = await connection.query<WebhookRow>(
    `WITH claimed AS (
       UPDATE webhooks SET claimed_by = CASE WHEN claimed_until > clock_timestamp() THEN claimed_by ELSE $1 END,
         claimed_until = clock_timestamp() + $2::bigint * interval '1 millisecond'
       WHERE claimed_by = $1 OR claimed_by IS NULL OR claimed_until < clock_timestamp()
         OR claimed_until > clock_timestamp() + $2::bigint * interval '1 millisecond'
       RETURNING number, claimed_by, ${columns})
     SELECT ${columns} FROM claimed WHERE claimed_by = $1 ORDER BY number`,
    server,
    BigInt(webhookClaimMs),
  );
  return rows.map(webhookFromRow);
}

export async function releaseWebhooks(connection: Queryable, server: string): Promise<void> {
  await connection.query(`UPDATE webhooks SET claimed_by = NULL, claimed_until = NULL WHERE claimed_by = $1`, server);
}

export async function getWebhook(connection: Queryable, id: string): Promise<Webhook | undefined> {
  return webhookFromFirst(await connection.query<WebhookRow>(`SELECT ${columns} FROM webhooks WHERE id = $1`, id));
}

export async function deleteWebhook(connection: Queryable, id: string): Promise<boolean> {
  return (await connection.query(`DELETE FROM webhooks WHERE id = $1 RETURNING id`, id)).length > 0;
}

/** See `WebhookStore`. */
export async function pauseWebhook(
  connection: Queryable,
  server: string,
  id: string,
  { reason, atMs, judged }: WebhookPause,
): Promise<Webhook | undefined> {
  const pause = `UPDATE webhooks SET paused = $1, paused_at_ms = $2 WHERE id = $3 AND paused IS NULL`;
  const values = [reason, BigInt(atMs), id];
  if (judged === undefined) {
    await connection.query(pause, ...values);
  } else {
    await connection.query(
      `${pause}
         AND (claimed_by IS NULL OR claimed_by = $4 OR claimed_until < clock_timestamp())
         AND (position, delivering_up_to, failures, failing_since_ms, next_attempt_at_ms)
           IS NOT DISTINCT FROM ($5::bigint, $6::bigint, $7::bigint, $8::bigint, $9::bigint)`,
      ...values,
      server,
      ...progressColumns(judged),
    );
  }
  return getWebhook(connection, id);
}

export async function resumeWebhook(
  connection: Queryable,
  id: string,
  position: bigint | undefined,
): Promise<Webhook | undefined> {
  const rows = await connection.query<WebhookRow>(
    `UPDATE webhooks SET paused = NULL, paused_at_ms = NULL, failures = 0, failing_since_ms = NULL,
       next_attempt_at_ms = NULL, position = coalesce($2::bigint, position),
       delivering_up_to = CASE WHEN $2::bigint IS NULL THEN delivering_up_to END
     WHERE id = $1 RETURNING ${columns}`,
    id,
    position ?? null,
  );
  return webhookFromFirst(rows);
}

export async function rotateWebhookSecret(
  connection: Queryable,
  id: string,
  secret: string,
  formerEndsAtMs: number,
): Promise<Webhook | undefined> {
  const rows = await connection.query<WebhookRow>(
    `UPDATE webhooks SET former_secret = secret, former_secret_ends_ms = $1, secret = $2 WHERE id = $3 RETURNING ${columns}`,
    BigInt(formerEndsAtMs),
    secret,
    id,
  );
  return webhookFromFirst(rows);
}

/** See `WebhookStore`. To be called in a transaction. */
export async function saveProgress(
  connection: Queryable,
  server: string,
  id: string,
  { from, to, attempt }: ProgressStep,
): Promise<boolean> {
  const saved = await connection.query(
    `UPDATE webhooks SET position = $1, delivering_up_to = $2, failures = $3, failing_since_ms = $4,
       next_attempt_at_ms = $5
     WHERE id = $6 AND (claimed_by IS NULL OR claimed_by = $7 OR claimed_until < clock_timestamp())
       AND position = $8 AND delivering_up_to IS NOT DISTINCT FROM $9::bigint
       AND (failures = $10 AND failing_since_ms IS NOT DISTINCT FROM $11::bigint
         AND next_attempt_at_ms IS NOT DISTINCT FROM $12::bigint OR $3 = 0)
     RETURNING id`,
    ...progressColumns(to),
    id,
    server,
    ...progressColumns(from),
  );
  if (attempt !== undefined && saved.length > 0) {
    await insertAttempt(connection, id, attempt);
  }
  return saved.length > 0;
}

async function insertAttempt(connection: Queryable, id: string, attempt: DeliveryAttempt): Promise<void> {
  await connection.query(
    `INSERT INTO webhook_attempts (webhook_id, delivery_id, at_ms, duration_ms, changes, status, fault)
     VALUES ($1, $2, $3, $4, $5, $6, $7)`,
    id,
    attempt.deliveryId,
    BigInt(attempt.atMs),
    BigInt(Math.round(attempt.durationMs)),
    BigInt(attempt.changes),
    toNullable(attempt.status),
    attempt.fault ?? null,
  );
  await connection.query(
    `DELETE FROM webhook_attempts WHERE webhook_id = $1 AND number <=
       (SELECT number FROM webhook_attempts WHERE webhook_id = $1 ORDER BY number DESC LIMIT 1 OFFSET $2)`,
    id,
    BigInt(keptAttempts),
  );
}

export async function listAttempts(connection: Queryable, id: string, limit: number): Promise<DeliveryAttempt[]> {
  const rows = await connection.query<AttemptRow>(
    `SELECT delivery_id, at_ms, duration_ms, changes, status, fault FROM webhook_attempts WHERE webhook_id = $1 ORDER BY number DESC LIMIT $2`,
    id,
    BigInt(limit),
  );
  return rows.map(attemptFromRow);
}

function webhookFromFirst([row]: readonly WebhookRow[]): Webhook | undefined {
  return row && webhookFromRow(row);
}

function webhookFromRow(row: WebhookRow): Webhook {
  return webhookFromColumns(row, { petIds: row.pet_ids, pauseReason: row.paused });
}
