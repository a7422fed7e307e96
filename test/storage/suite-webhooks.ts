import { describe, expect, it } from "vitest";
import { type DeliveryAttempt, newProgress, type WebhookProgress } from "../../src/domain/webhook.ts";
import { type OpenStore, withStore } from "./opened-store.ts";
import { createWebhook } from "./samples.ts";

const noReport = () => expect.unreachable("no row is damaged");

function createAttempt(attempt: Partial<DeliveryAttempt> = {}): DeliveryAttempt {
  return {
    deliveryId: "msg_1",
    atMs: 1_700_000_000_000,
    durationMs: 12,
    changes: 1,
    status: 200,
    fault: undefined,
    ...attempt,
  };
}

const largest = 9_223_372_036_854_775_807n;

export function describeWebhooks(open: OpenStore): void {
  describe("webhooks", () => {
    it(
      "are listed in the order of their creation, with all that was said, after a restart too",
      withStore(open, async ({ store, reopen }) => {
        const first = createWebhook({ id: "whk_b", filter: { petIds: [largest, -7n], crossing: -5n } });
        const second = createWebhook({ id: "whk_a", progress: newProgress(largest - 1n) });
        await store.createWebhook(first);
        await store.createWebhook(second);
        const again = await reopen();
        expect(await again.listWebhooks()).toEqual([first, second]);
        expect(await again.getWebhook("whk_a")).toEqual(second);
        expect(await again.getWebhook("whk_c")).toBeUndefined();
      }),
    );

    it(
      "are paused once, and resumed as those that have not failed",
      withStore(open, async ({ store }) => {
        const webhook = createWebhook({ id: "whk_a" });
        const progress = {
          position: 3n,
          deliveringUpTo: 5n,
          failures: 2,
          failingSinceMs: 1_700_000_000_001,
          nextAttemptAtMs: 1_700_000_000_002,
        };
        await store.createWebhook(webhook);
        await store.saveProgress("whk_a", { from: webhook.progress, to: progress });
        const paused = { ...webhook, progress, paused: { reason: "failures", atMs: 7 } };
        expect(await store.pauseWebhook("whk_a", "failures", 7)).toEqual(paused);
        expect(await store.pauseWebhook("whk_a", "operator", 8)).toEqual(paused);
        const resumed = { ...newProgress(3n), deliveringUpTo: 5n };
        expect(await store.resumeWebhook("whk_a", undefined)).toEqual({ ...webhook, progress: resumed });
        expect(await store.resumeWebhook("whk_a", 9n)).toEqual({ ...webhook, progress: newProgress(9n) });
      }),
    );

    it.each<[change: string, position: bigint | undefined]>([
      ["the failures are forgotten", undefined],
      ["the position is set", 9n],
    ])("that were resumed since a pause was judged are not paused: %s", (_, position) =>
      withStore(open, async ({ store }) => {
        const webhook = createWebhook({ id: "whk_a" });
        await store.createWebhook(webhook);
        const judged = { ...webhook.progress, deliveringUpTo: 5n, failures: 1, failingSinceMs: 5, nextAttemptAtMs: 9 };
        await store.saveProgress("whk_a", { from: webhook.progress, to: judged });
        const resumed = await store.resumeWebhook("whk_a", position);
        expect(await store.pauseWebhook("whk_a", "failures", 7, judged)).toEqual(resumed);
        expect(await store.getWebhook("whk_a")).toEqual(resumed);
        const paused = { ...resumed, paused: { reason: "history", atMs: 8 } };
        expect(await store.pauseWebhook("whk_a", "history", 8, resumed?.progress)).toEqual(paused);
      })(),
    );

    it.each<[from: string, begun: Partial<WebhookProgress>, position: bigint | undefined]>([
      ["the failures that a command has forgiven", { failures: 1, failingSinceMs: 5, nextAttemptAtMs: 9 }, undefined],
      ["the time of the first failure", { failures: 0, failingSinceMs: 5 }, undefined],
      ["the wait for the next attempt", { nextAttemptAtMs: 9 }, undefined],
      ["a delivery that a command has left out", { deliveringUpTo: 5n }, 9n],
      ["the position that a command has set", {}, 9n],
    ])("that were resumed during an attempt are not set back to %s", (_, begun, position) =>
      withStore(open, async ({ store }) => {
        const webhook = createWebhook({ id: "whk_a" });
        await store.createWebhook(webhook);
        const from = { ...webhook.progress, ...begun };
        expect(await store.saveProgress("whk_a", { from: webhook.progress, to: from })).toBe(true);
        const resumed = await store.resumeWebhook("whk_a", position);
        const failed = { ...from, failures: 2, failingSinceMs: 5, nextAttemptAtMs: 20 };
        expect(await store.saveProgress("whk_a", { from, to: failed, attempt: createAttempt() })).toBe(false);
        expect(await store.getWebhook("whk_a")).toEqual(resumed);
        expect(await store.listAttempts("whk_a", 5)).toEqual([]);
      })(),
    );

    it.each<[what: string, position: bigint | undefined, counts: boolean]>([
      ["counts", undefined, true],
      ["does not count where the command has set the position", 9n, false],
    ])("that were resumed during an attempt: its success %s", (_, position, counts) =>
      withStore(open, async ({ store }) => {
        const webhook = createWebhook({ id: "whk_a" });
        const { progress } = webhook;
        await store.createWebhook(webhook);
        const from = { ...progress, deliveringUpTo: 5n, failures: 1, failingSinceMs: 5, nextAttemptAtMs: 9 };
        await store.saveProgress("whk_a", { from: progress, to: from });
        await store.resumeWebhook("whk_a", position);
        const step = { from, to: newProgress(5n), attempt: createAttempt() };
        expect(await store.saveProgress("whk_a", step)).toBe(counts);
        expect((await store.getWebhook("whk_a"))?.progress).toEqual(newProgress(counts ? 5n : 9n));
        expect(await store.listAttempts("whk_a", 5)).toHaveLength(counts ? 1 : 0);
      })(),
    );

    it(
      "stay paused when the attempt that was under way is saved",
      withStore(open, async ({ store }) => {
        const webhook = createWebhook({ id: "whk_a" });
        await store.createWebhook(webhook);
        const paused = await store.pauseWebhook("whk_a", "operator", 7);
        const step = { from: webhook.progress, to: newProgress(5n), attempt: createAttempt() };
        expect(await store.saveProgress("whk_a", step)).toBe(true);
        expect(await store.getWebhook("whk_a")).toEqual({ ...paused, progress: newProgress(5n) });
      }),
    );

    it(
      "are all claimed by a server that has no other beside it, in the order of their creation",
      withStore(open, async ({ store }) => {
        const webhooks = [createWebhook({ id: "whk_b" }), createWebhook({ id: "whk_a" })];
        for (const webhook of webhooks) {
          await store.createWebhook(webhook);
        }
        expect(await store.claimWebhooks(noReport)).toEqual(webhooks);
        await store.saveProgress("whk_a", { from: newProgress(0n), to: newProgress(3n) });
        expect((await store.claimWebhooks(noReport)).map(({ id, progress }) => [id, progress.position])).toEqual([
          ["whk_b", webhooks[0]?.progress.position],
          ["whk_a", 3n],
        ]);
        await store.releaseWebhooks();
        expect(await store.claimWebhooks(noReport)).toHaveLength(2);
      }),
    );

    it(
      "keep the former secret after a rotation",
      withStore(open, async ({ store }) => {
        await store.createWebhook(createWebhook({ id: "whk_a", secret: "first" }));
        await store.rotateWebhookSecret("whk_a", "second", 5);
        const rotated = await store.rotateWebhookSecret("whk_a", "third", 6);
        expect(rotated).toMatchObject({ secret: "third", formerSecret: { secret: "second", endsAtMs: 6 } });
        expect(await store.getWebhook("whk_a")).toEqual(rotated);
      }),
    );

    it(
      "keep their last 100 attempts, the newest first",
      withStore(open, async ({ store }) => {
        await store.createWebhook(createWebhook({ id: "whk_a" }));
        await store.createWebhook(createWebhook({ id: "whk_b" }));
        const [from, failed] = [newProgress(0n), createAttempt({ status: undefined, fault: "no answer" })];
        await store.saveProgress("whk_b", { from, to: from, attempt: failed });
        for (let atMs = 1; atMs <= 103; atMs += 1) {
          const step = { from: newProgress(BigInt(atMs - 1)), to: newProgress(BigInt(atMs)) };
          await store.saveProgress("whk_a", { ...step, attempt: createAttempt({ atMs }) });
        }
        const attempts = await store.listAttempts("whk_a", 1_000);
        expect(attempts.map(({ atMs }) => atMs)).toEqual(Array.from({ length: 100 }, (_, index) => 103 - index));
        expect(await store.listAttempts("whk_a", 1)).toEqual([createAttempt({ atMs: 103 })]);
        expect(await store.listAttempts("whk_b", 5)).toEqual([failed]);
        expect((await store.getWebhook("whk_a"))?.progress).toEqual(newProgress(103n));
      }),
    );

    it(
      "are deleted with their attempts; what concerns one that is gone does nothing",
      withStore(open, async ({ store }) => {
        await store.createWebhook(createWebhook({ id: "whk_a" }));
        const [from, to] = [newProgress(0n), newProgress(1n)];
        await store.saveProgress("whk_a", { from, to, attempt: createAttempt() });
        expect(await store.deleteWebhook("whk_a")).toBe(true);
        expect(await store.deleteWebhook("whk_a")).toBe(false);
        expect(await store.saveProgress("whk_a", { from: to, to, attempt: createAttempt() })).toBe(false);
        expect(await store.listWebhooks()).toEqual([]);
        expect(await store.listAttempts("whk_a", 5)).toEqual([]);
        expect(await store.pauseWebhook("whk_a", "operator", 1)).toBeUndefined();
        expect(await store.resumeWebhook("whk_a", undefined)).toBeUndefined();
        expect(await store.rotateWebhookSecret("whk_a", "x", 1)).toBeUndefined();
      }),
    );
  });
}
