import { randomBytes } from "node:crypto";
import type { Command } from "commander";
import { attemptDelivery, createTestDelivery } from "../../../webhooks/delivery.ts";
import { sendPost } from "../../../webhooks/post.ts";
import { SecretBox } from "../../../webhooks/secret-box.ts";
import { Failure } from "../../failure.ts";
import { printable } from "../../print/printable.ts";
import { createOption } from "../../settings/option.ts";
import { withExistingStore } from "../../store-file.ts";
import { requireWebhook } from "./webhook-lookup.ts";

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
