import { randomBytes } from "node:crypto";
import type { Command } from "commander";
import { formerSecretMs, mintSigningSecret } from "../../../domain/webhook.ts";
import { isSealed, SecretBox } from "../../../webhooks/secret-box.ts";
import { Failure } from "../../failure.ts";
import { printSigningSecret } from "../../print/webhook.ts";
import { createOption } from "../../settings/option.ts";
import { withExistingStore } from "../../store-file.ts";
import { requireWebhook } from "./webhook-lookup.ts";

/** `petstore webhooks rotate-secret ID`. */
export function addWebhooksRotateSecret(webhooks: Command): void {
  webhooks
    .command("rotate-secret")
    .summary("give a webhook a new secret and print it once")
    .description("Gives a webhook a new secret. For 24 h, the old one signs as well.")
    .argument("<id>", "the webhook's id, whk_…")
    .addOption(createOption("secretKey"))
    .option("--json", "print an object with id, url and secret")
    .action(async (id: string, _options, command: Command) => {
      await rotateSecret(id, command.optsWithGlobals<RotateOptions>());
    });
}

interface RotateOptions {
  readonly db: string;
  readonly secretKey?: Uint8Array;
  readonly json?: true;
}

async function rotateSecret(id: string, options: RotateOptions): Promise<void> {
  const secret = mintSigningSecret(randomBytes);
  const sealed = new SecretBox(options.secretKey).seal(secret, id);
  const { url } = await withExistingStore(options.db, async (store) => {
    const webhook = requireWebhook(await store.getWebhook(id), id);
    if (isSealed(webhook.secret) && options.secretKey === undefined) {
      throw new Failure("the store keeps its secret encrypted: set PETSTORE_SECRET_KEY, as for the server");
    }
    return requireWebhook(await store.rotateWebhookSecret(id, sealed, Date.now() + formerSecretMs), id);
  });
  printSigningSecret({ id, url, secret }, options);
}
