import { create, createRegistry } from "@bufbuild/protobuf";
import { StockChangeSchema } from "../../gen/petstore/v1/stock_change_pb.ts";
import { keptSinceMs, type StockChange } from "../domain/history.ts";
import { JsonWriters } from "../proto-json/json-writer.ts";
import { throttle } from "../scheduling/timing.ts";
import { changeToMessage } from "../services/messages.ts";
import { deletionMarginMs } from "../storage/housekeeping.ts";
import { WebhookDispatcher } from "../webhooks/dispatcher.ts";
import { sendPost } from "../webhooks/post.ts";
import { SecretCipher } from "../webhooks/secret-cipher.ts";
import type { WebhookObserver } from "../webhooks/worker.ts";
import type { Backend } from "./backend.ts";
import type { ServerConfig } from "./config.ts";
import { restJson } from "./rest-json.ts";
import type { ServerLife } from "./server-life.ts";
import type { Telemetry } from "./telemetry.ts";

/**
 * For how long webhooks find changes that are no longer listed, in milliseconds: for longer than another server needs
 * to take over those of a killed one, so that no retention is too short for that.
 */
const takeoverMs = deletionMarginMs / 2;

/** Starts to deliver changes of the stock to the webhooks. The deliveries end when the server is told to stop. */
export function startWebhooks(
  config: ServerConfig,
  life: ServerLife,
  { observability, logger }: Telemetry,
  { store, externalChanges }: Backend,
): void {
  const { clock } = life;
  const reportStore = throttle((reason) =>
    logger.error({ err: reason }, "the store of the webhooks failed; the server tries again"),
  );
  const observer: WebhookObserver = {
    attempted(webhook, attempt) {
      observability.attempts.attempted(attempt);
      const { deliveryId, changes, durationMs, status, fault } = attempt;
      const line = { webhook: webhook.id, delivery: deliveryId, changes, durationMs, status, fault };
      logger[fault === undefined ? "debug" : "warn"](line, "webhook");
    },
    paused({ id }, reason) {
      const text = reason === "history" ? "its next change is no longer kept" : "it has failed for 3 days";
      logger.error({ webhook: id, reason }, `a webhook is paused: ${text}`);
    },
    storeFailed: (_webhook, reason) => reportStore(reason),
  };
  const dispatcher = new WebhookDispatcher({
    store,
    history: store.followed,
    send: sendPost,
    secrets: new SecretCipher(config.secretKey),
    allowPrivate: config.allowPrivateWebhooks,
    clock,
    write: createChangeWriter(),
    keptSinceMs: () => keptSinceMs(config.historyRetentionMs, clock() - takeoverMs),
    observer,
    onStockChanged: (listener) => externalChanges.subscribe("stock", listener),
    onWebhooksChanged: (listener) => externalChanges.subscribe("webhooks", listener),
    report: reportStore,
  });
  observability.watchWebhooks(() => dispatcher.workers);
  life.endAtStop(() => dispatcher.close());
}

/** Writes changes in the JSON of REST. */
function createChangeWriter(): (change: StockChange, lineage: string) => string {
  const write = new JsonWriters(restJson, createRegistry()).message(StockChangeSchema);
  return (change, lineage) => write(create(StockChangeSchema, changeToMessage(change, lineage)));
}
