import { type DeliveryAttempt, stateOfWebhook, type Webhook } from "../../domain/webhook.ts";
import { rawJson } from "../../exact-json/number.ts";
import { formatAgo, formatTime, timeToJson } from "./format.ts";
import { printNewSecret } from "./secret.ts";
import { formatTable } from "./terminal.ts";

/** A webhook with its new secret. */
interface SignedWebhook {
  readonly id: string;
  readonly url: string;
  readonly secret: string;
}

/** Prints a webhook's new secret. */
export function printSigningSecret({ id, url, secret }: SignedWebhook, options: { readonly json?: true }): void {
  printNewSecret(
    {
      secret,
      purpose: `This signs the requests of ${id}`,
      replacement: `petstore webhooks rotate-secret ${id}`,
      json: { id, url, secret },
    },
    options,
  );
}

/** What a table of webhooks depends on. */
interface TableOptions {
  /** The newest revision. */
  readonly head: bigint;
  readonly nowMs: number;
  /** The width of the terminal, in columns; undefined when the output is not a terminal. */
  readonly width: number | undefined;
}

/** Writes webhooks for people, one on a line. */
export function formatWebhooks(webhooks: readonly Webhook[], { head, nowMs, width }: TableOptions): string {
  if (webhooks.length === 0) {
    return "There are no webhooks.\n";
  }
  const rows = webhooks.map((webhook) => [
    webhook.id,
    describeState(webhook, nowMs),
    String(head - webhook.progress.position),
    describeFilter(webhook),
    webhook.url,
  ]);
  return formatTable([["ID", "STATE", "BEHIND", "FILTER", "URL"], ...rows], width);
}

/** Such as `failing for 2h`. */
function describeState({ paused, progress: { failingSinceMs } }: Webhook, nowMs: number): string {
  if (paused !== undefined) {
    return `paused (${paused.reason})`;
  }
  return failingSinceMs === undefined ? "active" : `failing, ${formatAgo(failingSinceMs, nowMs)}`;
}

function describeFilter({ filter: { petIds, crossing } }: Webhook): string {
  const pets = petIds.length === 0 ? [] : [`${petIds.length === 1 ? `pet ${petIds[0]}` : `${petIds.length} pets`}`];
  return [...pets, ...(crossing === undefined ? [] : [`to ${crossing}`])].join(", ") || "-";
}

/** A webhook for programs, without its secrets. `head` is the newest revision. */
export function webhookToJson(webhook: Webhook, head: bigint): object {
  const { id, url, filter, createdAtMs, paused, progress } = webhook;
  return {
    id,
    url,
    petIds: filter.petIds.map((petId) => rawJson(String(petId))),
    crossing: filter.crossing === undefined ? null : rawJson(String(filter.crossing)),
    createdAt: timeToJson(createdAtMs),
    state: stateOfWebhook(webhook),
    paused: paused === undefined ? null : { reason: paused.reason, at: timeToJson(paused.atMs) },
    position: rawJson(String(progress.position)),
    behind: rawJson(String(head - progress.position)),
    failures: progress.failures,
    failingSince: timeToJson(progress.failingSinceMs),
    nextAttemptAt: timeToJson(progress.nextAttemptAtMs),
  };
}

/** Writes attempts for people, one on a line. */
export function formatAttempts(attempts: readonly DeliveryAttempt[], width: number | undefined): string {
  if (attempts.length === 0) {
    return "Nothing was delivered yet.\n";
  }
  const rows = attempts.map(({ atMs, changes, durationMs, fault, status }) => [
    formatTime(atMs),
    String(changes),
    formatDuration(durationMs),
    fault ?? `delivered, ${status}`,
  ]);
  return formatTable([["WHEN", "CHANGES", "TOOK", "OUTCOME"], ...rows], width);
}

/** Such as `12 ms` or `10.0 s`. */
function formatDuration(ms: number): string {
  return Math.round(ms) < 1_000 ? `${Math.round(ms)} ms` : `${(ms / 1_000).toFixed(1)} s`;
}

/** An attempt for programs. */
export function attemptToJson({ deliveryId, atMs, durationMs, changes, status, fault }: DeliveryAttempt): object {
  return {
    webhookId: deliveryId,
    at: timeToJson(atMs),
    durationMs: Math.round(durationMs),
    changes,
    status: status ?? null,
    outcome: fault === undefined ? "delivered" : "failed",
    fault: fault ?? null,
  };
}
