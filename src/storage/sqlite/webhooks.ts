import type { ProgressStep } from "../../domain/store.ts";
import {
  type DeliveryAttempt,
  keptAttempts,
  type PauseReason,
  pauseReasons,
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
import { type Connection, readEnumText, readStringArray } from "./connection.ts";

interface WebhookRow extends WebhookColumns {
  readonly pet_ids: string;
  readonly paused: string | null;
}

export function createWebhook(connection: Connection, { filter, progress, ...webhook }: Webhook): void {
  connection.run(
    `INSERT INTO webhooks (id, url, pet_ids, crossing, created_at_ms, secret, position, failures)
     VALUES (?, ?, ?, ?, ?, ?, ?, 0)`,
    webhook.id,
    webhook.url,
    JSON.stringify(filter.petIds.map(String)),
    filter.crossing ?? null,
    BigInt(webhook.createdAtMs),
    webhook.secret,
    progress.position,
  );
}

/** Throws `DamagedRowError`. */
export function listWebhooks(connection: Connection): Webhook[] {
  return selectAll(connection).map(webhookFromRow);
}

/** As `listWebhooks`, but reports damaged rows, and leaves them out. */
export function listReadableWebhooks(connection: Connection, report: (reason: unknown) => void): Webhook[] {
  return selectAll(connection).flatMap((row) => {
    try {
      return [webhookFromRow(row)];
    } catch (cause) {
      report(new Error(`the row of webhook ${row.id} is damaged`, { cause }));
      return [];
    }
  });
}

function selectAll(connection: Connection): WebhookRow[] {
  return connection.all<WebhookRow>(`SELECT * FROM webhooks ORDER BY number`);
}

export function getWebhook(connection: Connection, id: string): Webhook | undefined {
  const row = connection.get<WebhookRow>(`SELECT * FROM webhooks WHERE id = ?`, id);
  return row && webhookFromRow(row);
}

export function deleteWebhook(connection: Connection, id: string): boolean {
  return connection.all(`DELETE FROM webhooks WHERE id = ? RETURNING id`, id).length > 0;
}

/** See `WebhookStore`. */
export function pauseWebhook(
  connection: Connection,
  id: string,
  reason: PauseReason,
  atMs: number,
  judged?: WebhookProgress,
): Webhook | undefined {
  const pause = `UPDATE webhooks SET paused = ?, paused_at_ms = ? WHERE id = ? AND paused IS NULL`;
  const values = [reason, BigInt(atMs), id];
  if (judged === undefined) {
    connection.run(pause, ...values);
  } else {
    connection.run(
      `${pause} AND (position, delivering_up_to, failures, failing_since_ms, next_attempt_at_ms) IS (?, ?, ?, ?, ?)`,
      ...values,
      ...progressColumns(judged),
    );
  }
  return getWebhook(connection, id);
}

export function resumeWebhook(connection: Connection, id: string, position: bigint | undefined): Webhook | undefined {
  connection.run(
    `UPDATE webhooks SET paused = NULL, paused_at_ms = NULL, failures = 0, failing_since_ms = NULL,
       next_attempt_at_ms = NULL WHERE id = ?`,
    id,
  );
  if (position !== undefined) {
    connection.run(`UPDATE webhooks SET position = ?, delivering_up_to = NULL WHERE id = ?`, position, id);
  }
  return getWebhook(connection, id);
}

export function rotateWebhookSecret(
  connection: Connection,
  id: string,
  secret: string,
  formerEndsAtMs: number,
): Webhook | undefined {
  connection.run(
    `UPDATE webhooks SET former_secret = secret, former_secret_ends_ms = ?, secret = ? WHERE id = ?`,
    BigInt(formerEndsAtMs),
    secret,
    id,
  );
  return getWebhook(connection, id);
}

/** See `WebhookStore`. */
export function saveProgress(connection: Connection, id: string, { from, to, attempt }: ProgressStep): boolean {
  const saved = connection.all(
    `UPDATE webhooks SET position = ?, delivering_up_to = ?, failures = ?, failing_since_ms = ?, next_attempt_at_ms = ?
     WHERE id = ? AND position = ? AND delivering_up_to IS ?
       AND (failures = ? AND failing_since_ms IS ? AND next_attempt_at_ms IS ? OR ? = 0)
     RETURNING id`,
    ...progressColumns(to),
    id,
    ...progressColumns(from),
    to.failures,
  );
  if (attempt !== undefined && saved.length > 0) {
    insertAttempt(connection, id, attempt);
  }
  return saved.length > 0;
}

function insertAttempt(connection: Connection, id: string, attempt: DeliveryAttempt): void {
  connection.run(
    `INSERT INTO webhook_attempts (webhook_id, delivery_id, at_ms, duration_ms, changes, status, fault)
     VALUES (?, ?, ?, ?, ?, ?, ?)`,
    id,
    attempt.deliveryId,
    BigInt(attempt.atMs),
    BigInt(Math.round(attempt.durationMs)),
    BigInt(attempt.changes),
    toNullable(attempt.status),
    attempt.fault ?? null,
  );
  connection.run(
    `DELETE FROM webhook_attempts WHERE webhook_id = ? AND number <=
       (SELECT number FROM webhook_attempts WHERE webhook_id = ? ORDER BY number DESC LIMIT 1 OFFSET ?)`,
    id,
    id,
    BigInt(keptAttempts),
  );
}

export function listAttempts(connection: Connection, id: string, limit: number): DeliveryAttempt[] {
  const rows = connection.all<AttemptRow>(
    `SELECT * FROM webhook_attempts WHERE webhook_id = ? ORDER BY number DESC LIMIT ?`,
    id,
    BigInt(limit),
  );
  return rows.map(attemptFromRow);
}

function webhookFromRow(row: WebhookRow): Webhook {
  const pauseReason = row.paused === null ? null : readEnumText(row.paused, pauseReasons);
  return webhookFromColumns(row, { petIds: readStringArray(row.pet_ids).map(BigInt), pauseReason });
}
