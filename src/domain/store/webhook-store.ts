import type { DeliveryAttempt, PauseReason, Webhook, WebhookProgress } from "../webhook.ts";

/** A step of the deliveries to a webhook. */
export interface ProgressStep {
  readonly from: WebhookProgress;
  readonly to: WebhookProgress;
  readonly attempt?: DeliveryAttempt | undefined;
}

/** Keeps the webhooks, and how far the deliveries to each have come. */
export interface WebhookStore {
  createWebhook(webhook: Webhook): Promise<void>;
  /** All webhooks, in the order of their creation. */
  listWebhooks(): Promise<Webhook[]>;
  /** How long a claim lasts, in milliseconds; infinity for a store that only one server can have. */
  readonly webhookClaimMs: number;
  /**
   * Claims the webhooks that no other server has claimed, and renews the claims that this one has. A server delivers
   * only to webhooks that it has claimed. Returns them in the order of their creation.
   */
  claimWebhooks(): Promise<Webhook[]>;
  /** Gives up all claims of this server. */
  disclaimWebhooks(): Promise<void>;
  /** Undefined when no webhook has this id. */
  getWebhook(id: string): Promise<Webhook | undefined>;
  /** Deletes a webhook and its attempts. Returns whether there was one. */
  deleteWebhook(id: string): Promise<boolean>;
  /** Pauses a webhook that is not paused. Returns it as it stands then; undefined when there is none. */
  pauseWebhook(id: string, reason: PauseReason, atMs: number): Promise<Webhook | undefined>;
  /**
   * Resumes a webhook, and forgets its failures. `position` is where it goes on; undefined for its present position.
   * Returns the resumed webhook; undefined when there is none.
   */
  resumeWebhook(id: string, position: bigint | undefined): Promise<Webhook | undefined>;
  /** Gives a webhook a new secret; the present one becomes the former. Undefined when there is no such webhook. */
  rotateWebhookSecret(id: string, secret: string, formerEndsAtMs: number): Promise<Webhook | undefined>;
  /**
   * Stores how far the deliveries to a webhook have come, and the attempt that has led there, if there was one. Keeps the
   * last `keptAttempts` of each webhook. Returns false, and stores nothing, if the webhook has another position than the
   * step begins with, because it was resumed meanwhile; if it is gone; or if another server has claimed it.
   */
  saveProgress(id: string, step: ProgressStep): Promise<boolean>;
  /** The last attempts of a webhook, the newest first. */
  listAttempts(id: string, limit: number): Promise<DeliveryAttempt[]>;
}
