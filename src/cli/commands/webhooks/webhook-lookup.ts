import { type HistoryBounds, keptSinceMs } from "../../../domain/history.ts";
import type { StockStore } from "../../../domain/store/stock-store.ts";
import type { Webhook } from "../../../domain/webhook.ts";
import { Failure } from "../../failure.ts";
import { printableJsonLine } from "../../print/terminal.ts";

/** A generous bound on the time until a server notices a webhook and begins with it, in milliseconds. */
const startMs = 60_000;

/** The bounds of the history that a server with this retention still has when it begins to deliver. */
export function readBounds(store: Pick<StockStore, "historyBounds">, retentionMs: number): Promise<HistoryBounds> {
  return store.historyBounds(keptSinceMs(retentionMs, Date.now() + startMs));
}

/** The webhook with an id, as the store has answered. Throws a `Failure` when there is none. */
export function requireWebhook(webhook: Webhook | undefined, id: string): Webhook {
  if (webhook === undefined) {
    throw unknownWebhook(id);
  }
  return webhook;
}

/** The failure of a command that names no webhook. A secret in the place of the id is not repeated. */
export function unknownWebhook(id: string): Failure {
  const advice = "'petstore webhooks list' lists all webhooks";
  return new Failure(
    id.includes("whsec_")
      ? `a webhook is named by its id, not by its secret; ${advice}`
      : `there is no webhook ${printableJsonLine(id)}; ${advice}`,
  );
}
