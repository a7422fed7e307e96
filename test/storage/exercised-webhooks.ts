import type { Store } from "../../src/domain/store.ts";
import { newProgress, progressAfterFailure } from "../../src/domain/webhook.ts";
import { createWebhook } from "./samples.ts";

/** Leaves webhooks in all the states that deliveries and commands bring them to. The history has 5 changes at least. */
export async function exerciseWebhooks(store: Store): Promise<void> {
  for (const id of ["whk_a", "whk_b", "whk_c"]) {
    await store.createWebhook(createWebhook({ id, filter: { petIds: [1n, -7n], crossing: 5n } }));
  }
  await store.claimWebhooks(() => {});
  const begun = { ...newProgress(2n), deliveringUpTo: 5n };
  const failed = progressAfterFailure(begun, { nowMs: 1, random: 0, retryAfterMs: undefined });
  const attempt = { deliveryId: "msg_1", atMs: 1, durationMs: 1, changes: 1, status: 500, fault: "it answered 500" };
  for (const id of ["whk_a", "whk_b"]) {
    await store.saveProgress(id, { from: newProgress(0n), to: begun });
    await store.saveProgress(id, { from: begun, to: failed, attempt });
  }
  for (let times = 1; times <= 101; times += 1) {
    await store.saveProgress("whk_a", { from: failed, to: failed, attempt });
  }
  await store.pauseWebhook("whk_a", "failures", 5);
  await store.resumeWebhook("whk_b", undefined);
  await store.resumeWebhook("whk_c", 5n);
}
