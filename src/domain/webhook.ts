import type { ChangeQuery } from "./history.ts";
import { drawBase62, type RandomBytes } from "./key.ts";

/** Why nothing is delivered to a webhook: an operator wants it so, it failed for too long, or it is too far behind. */
export const pauseReasons = ["operator", "failures", "history"] as const;

export type PauseReason = (typeof pauseReasons)[number];

/** A URL to which changes of stock are posted. Times are milliseconds since the Unix epoch. */
export interface Webhook {
  /** `whk_` and random letters. */
  readonly id: string;
  readonly url: string;
  /** Only changes that this filter selects are delivered. */
  readonly filter: Pick<ChangeQuery, "petIds" | "crossing">;
  readonly createdAtMs: number;
  /** The signing secret as the store keeps it: encrypted, or as it is. */
  readonly secret: string;
  /** The secret before the last rotation, which signs as well until its end. Undefined where there is none. */
  readonly formerSecret: { readonly secret: string; readonly endsAtMs: number } | undefined;
  /** Undefined while changes are delivered. */
  readonly paused: { readonly reason: PauseReason; readonly atMs: number } | undefined;
  readonly progress: WebhookProgress;
}

/** How far the deliveries to a webhook have come. */
export interface WebhookProgress {
  /** All selected changes up to this revision have been delivered. */
  readonly position: bigint;
  /** The last revision of the delivery that was begun; undefined where none is. A retry has the same changes. */
  readonly deliveringUpTo: bigint | undefined;
  /** How many attempts of this delivery have failed. */
  readonly failures: number;
  /** When the first of these attempts failed. */
  readonly failingSinceMs: number | undefined;
  /** When the next attempt is due; undefined for now. */
  readonly nextAttemptAtMs: number | undefined;
}

/** One attempt to deliver changes. */
export interface DeliveryAttempt {
  /** The `webhook-id`, which all attempts of a delivery share. */
  readonly deliveryId: string;
  readonly atMs: number;
  readonly durationMs: number;
  /** How many changes it carried. */
  readonly changes: number;
  /** The status that the receiver answered; undefined where it has not. */
  readonly status: number | undefined;
  /** Why it failed, in words; undefined for a success. The text has nothing that the receiver sent. */
  readonly fault: string | undefined;
}

/** What a webhook does: it delivers, or its present delivery has failed at least once, or it is paused. */
type WebhookState = "active" | "failing" | "paused";

/** The state of a webhook. */
export function stateOfWebhook({ paused, progress }: Pick<Webhook, "paused" | "progress">): WebhookState {
  if (paused !== undefined) {
    return "paused";
  }
  return progress.failingSinceMs === undefined ? "active" : "failing";
}

/** How many pets a webhook may name: as many as a watch. Source: docs/contract.md#command-line */
export const maxWebhookPets = 100;

/** How many changes one delivery carries at most. Source: docs/contract.md#webhooks */
export const maxDeliveredChanges = 100;

/** How many attempts of each webhook are kept. Source: docs/contract.md#command-line */
export const keptAttempts = 100;

/** How long a receiver has to answer, in milliseconds. Source: docs/contract.md#webhooks */
export const deliveryTimeoutMs = 10_000;

/** How long after a rotation the former secret signs as well, in milliseconds. Source: docs/contract.md#webhooks */
export const formerSecretMs = 24 * 3_600_000;

/** The waits between attempts: the first, and the longest, in milliseconds. Source: docs/contract.md#webhooks */
export const [firstWaitMs, longestWaitMs] = [5_000, 3_600_000];

/** After how long a failing webhook is paused, in milliseconds. Source: docs/contract.md#webhooks */
export const pausedAfterMs = 3 * 24 * 3_600_000;

/** How many failed attempts a pause takes: as many as this time has with the longest waits. */
const attemptsBeforePause = pausedAfterMs / longestWaitMs;

/** Draws the id of a new webhook: `whk_` and 16 base62 characters. */
export function mintWebhookId(randomBytes: RandomBytes): string {
  return `whk_${drawBase62(16, randomBytes)}`;
}

/**
 * Draws a signing secret: `whsec_` and 32 random bytes in base64.
 *
 * Source: https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md
 */
export function mintSigningSecret(randomBytes: RandomBytes): string {
  return `whsec_${Buffer.from(randomBytes(32)).toString("base64")}`;
}

/** The progress of a webhook that begins after a revision. */
export function newProgress(position: bigint): WebhookProgress {
  return {
    position,
    deliveringUpTo: undefined,
    failures: 0,
    failingSinceMs: undefined,
    nextAttemptAtMs: undefined,
  };
}

/** A failed attempt, as the rules for the next one see it. */
interface FailedAttempt {
  readonly nowMs: number;
  /** From 0 to below 1. */
  readonly random: number;
  /** How long the receiver asks to wait, in milliseconds; undefined where it does not. */
  readonly retryAfterMs: number | undefined;
}

/**
 * The progress after a failed attempt. The waits double from 5 s on. Each is lengthened at random by up to a half, so that
 * the webhooks of one receiver do not retry all at once. A receiver may ask for a longer wait. No wait exceeds an hour.
 */
export function progressAfterFailure(progress: WebhookProgress, attempt: FailedAttempt): WebhookProgress {
  const { nowMs, random, retryAfterMs = 0 } = attempt;
  const failures = progress.failures + 1;
  const doubledMs = Math.min(firstWaitMs * 2 ** Math.min(failures - 1, 20), longestWaitMs / 1.5);
  const waitMs = Math.max(doubledMs * (1 + random / 2), Math.min(retryAfterMs, longestWaitMs));
  return {
    ...progress,
    failures,
    // By a clock that was ahead, the first attempt is in the future.
    failingSinceMs: Math.min(progress.failingSinceMs ?? nowMs, nowMs),
    nextAttemptAtMs: nowMs + Math.round(waitMs),
  };
}

/**
 * How long it is until the next attempt, in milliseconds. A wait longer than the longest means that the clock was set
 * back; the attempt is due then.
 */
export function msUntilAttempt({ nextAttemptAtMs = 0 }: WebhookProgress, nowMs: number): number {
  const ms = nextAttemptAtMs - nowMs;
  return ms > longestWaitMs ? 0 : Math.max(0, ms);
}

/**
 * Whether a webhook has failed for so long that it is paused. Time alone does not tell: while no server runs, there are
 * no attempts.
 */
export function hasFailedTooLong({ failures, failingSinceMs }: WebhookProgress, nowMs: number): boolean {
  return failures >= attemptsBeforePause && failingSinceMs !== undefined && nowMs - failingSinceMs >= pausedAfterMs;
}
