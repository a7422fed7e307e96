import { randomBytes } from "node:crypto";
import type { Command } from "commander";
import { keptAttempts } from "../../../domain/webhook.ts";
import { attemptDelivery, createTestDelivery } from "../../../webhooks/delivery.ts";
import { sendPost } from "../../../webhooks/post.ts";
import { SecretBox } from "../../../webhooks/secret-box.ts";
import { Failure } from "../../failure.ts";
import { printable, printableJson, terminalWidth } from "../../print/terminal.ts";
import { attemptToJson, formatAttempts, formatWebhooks, webhookToJson } from "../../print/webhook.ts";
import { createOption } from "../../settings/settings.ts";
import { withExistingStore } from "../../store-file.ts";
import { requireWebhook } from "./webhook-lookup.ts";

/** `petstore webhooks list`. */
export function addWebhooksList(webhooks: Command): void {
  webhooks
    .command("list")
    .summary("list the webhooks, without secrets")
    .description("Lists the webhooks in the order of their creation.")
    .option("--json", "print an array of objects")
    .addHelpText("after", help)
    .action(async (_options, command: Command) => {
      const { db, json } = command.optsWithGlobals<{ db: string; json?: true }>();
      const [listed, { head }] = await withExistingStore(db, (store) =>
        Promise.all([store.listWebhooks(), store.historyBounds(0)]),
      );
      process.stdout.write(
        json
          ? `${printableJson(listed.map((webhook) => webhookToJson(webhook, head)))}\n`
          : formatWebhooks(listed, { head, nowMs: Date.now(), width: terminalWidth() }),
      );
    });
}

const help = `
STATE is 'active', 'failing' since its first failure in a row, or 'paused' and
why: by an operator, after 3 days of failures, or as its next change is no
longer part of the history. BEHIND is how many changes were made since the last
one that was delivered; a filter may leave out some of them. On a terminal, a
long URL is cut; --json prints all of it.`;

/** `petstore webhooks test ID`. */
export function addWebhooksTest(webhooks: Command): void {
  webhooks
    .command("test")
    .summary("send a signed test request from this machine")
    .description("Posts a signed request of the type webhook.test, and tells the outcome.")
    .argument("<id>", "the webhook's id, whk_…")
    .option("--allow-private", "connect to addresses that are not public, too")
    .addOption(createOption("secretKey"))
    .action(async (id: string, _options, command: Command) => {
      await testWebhook(id, command.optsWithGlobals<TestOptions>());
    });
}

interface TestOptions {
  readonly db: string;
  readonly allowPrivate?: boolean;
  readonly secretKey?: Uint8Array;
}

async function testWebhook(id: string, { db, allowPrivate = false, secretKey }: TestOptions): Promise<void> {
  const webhook = requireWebhook(await withExistingStore(db, (store) => store.getWebhook(id)), id);
  const delivery = createTestDelivery(webhook, randomBytes(12).toString("base64url"), Date.now());
  const { attempt } = await attemptDelivery(webhook, delivery, new AbortController().signal, {
    send: sendPost,
    secrets: new SecretBox(secretKey),
    allowPrivate,
    clock: Date.now,
  });
  if (attempt.fault !== undefined) {
    throw new Failure(`${id} was not delivered to: ${attempt.fault}`);
  }
  process.stdout.write(`${printable(`${id} answered ${attempt.status} in ${Math.round(attempt.durationMs)} ms`)}\n`);
}

/** `petstore webhooks deliveries ID`. */
export function addWebhooksDeliveries(webhooks: Command): void {
  webhooks
    .command("deliveries")
    .summary("show the last attempts to deliver, the newest first")
    .description(`Shows the last ${keptAttempts} attempts to deliver to a webhook, the newest first.`)
    .argument("<id>", "the webhook's id, whk_…")
    .option("--json", "print an array of objects")
    .action(async (id: string, _options, command: Command) => {
      const { db, json } = command.optsWithGlobals<{ db: string; json?: true }>();
      const attempts = await withExistingStore(db, async (store) => {
        requireWebhook(await store.getWebhook(id), id);
        return store.listAttempts(id, keptAttempts);
      });
      process.stdout.write(
        json ? `${printableJson(attempts.map(attemptToJson))}\n` : formatAttempts(attempts, terminalWidth()),
      );
    });
}
