import { expect, it } from "vitest";
import { newProgress, type Webhook } from "../../src/domain/webhook.ts";
import { AttemptMetrics, type WatchedWebhook, WebhookGauges } from "../../src/observability/delivery-metrics.ts";
import { Metrics } from "../../src/observability/instruments.ts";
import { createWebhook } from "../storage/samples.ts";

const nowMs = 1_700_000_000_000;

const watch = (webhook: Partial<Webhook> & { readonly id: string }, lagMs?: number): WatchedWebhook => ({
  webhook: createWebhook(webhook),
  pendingSinceMs: lagMs === undefined ? undefined : nowMs - lagMs,
});

async function linesOf(metrics: Metrics): Promise<string[]> {
  return (await metrics.read()).body.split("\n").filter((line) => line.startsWith("petstore_webhook"));
}

function gaugesOf(watched: readonly WatchedWebhook[]): Promise<string[]> {
  const metrics = new Metrics();
  new WebhookGauges(
    () => watched,
    () => nowMs,
  ).addTo(metrics);
  return linesOf(metrics);
}

it("each state has its number of webhooks", async () => {
  const lines = await gaugesOf([
    watch({ id: "whk_a" }),
    watch({ id: "whk_b" }),
    watch({ id: "whk_c", progress: { ...newProgress(1n), failures: 1, failingSinceMs: nowMs } }),
    watch({ id: "whk_d", paused: { reason: "operator", atMs: nowMs } }),
    watch({ id: "whk_e", paused: { reason: "failures", atMs: nowMs } }),
  ]);
  expect(lines.filter((line) => line.startsWith("petstore_webhooks{"))).toEqual([
    'petstore_webhooks{state="active"} 2',
    'petstore_webhooks{state="failing"} 1',
    'petstore_webhooks{state="paused_operator"} 1',
    'petstore_webhooks{state="paused_failures"} 1',
    'petstore_webhooks{state="paused_history"} 0',
  ]);
});

it("a hundred webhooks have a lag of their own, and all others the largest of theirs", async () => {
  const many = Array.from({ length: 1_000 }, (_, index) => watch({ id: `whk_${index}` }, index));
  const lags = (await gaugesOf(many)).filter((line) => line.startsWith("petstore_webhook_lag_seconds{"));
  expect(lags.length).toBe(101);
  expect(lags).toContain('petstore_webhook_lag_seconds{webhook="whk_99"} 0.099');
  expect(lags.at(-1)).toBe('petstore_webhook_lag_seconds{webhook="other"} 0.999');
  expect(await gaugesOf([watch({ id: "whk_a" })])).toContain('petstore_webhook_lag_seconds{webhook="whk_a"} 0');
});

it("attempts are counted by outcome, whatever webhooks come and go", async () => {
  const metrics = new Metrics();
  const attempts = new AttemptMetrics(metrics);
  const attempt = { deliveryId: "msg_1", atMs: nowMs, durationMs: 1, changes: 1 };
  attempts.attempted({ ...attempt, status: 204, fault: undefined });
  attempts.attempted({ ...attempt, status: 500, fault: "it answered 500" });
  attempts.attempted({ ...attempt, status: undefined, fault: "no answer" });
  expect(await linesOf(metrics)).toEqual([
    'petstore_webhook_attempts_total{outcome="delivered"} 1',
    'petstore_webhook_attempts_total{outcome="failed"} 2',
  ]);
});
