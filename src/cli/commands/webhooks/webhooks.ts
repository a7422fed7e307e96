import type { Command } from "commander";
import { addWebhooksCreate } from "./create.ts";
import { addWebhooksDeliveries } from "./deliveries.ts";
import { addWebhooksList } from "./list.ts";
import { addWebhooksDelete, addWebhooksPause, addWebhooksResume } from "./pause-resume-delete.ts";
import { addWebhooksRotateSecret } from "./rotate-secret.ts";
import { addWebhooksTest } from "./test.ts";

/** `petstore webhooks …`: where changes of stock are posted to. */
export function addWebhooks(program: Command): void {
  const webhooks = program
    .command("webhooks")
    .summary("create, list, pause and delete webhooks")
    .description("Manages the URLs that a server posts changes of stock to. It applies what is done here in a second.")
    .addHelpText("after", examples);
  addWebhooksCreate(webhooks);
  addWebhooksList(webhooks);
  addWebhooksPause(webhooks);
  addWebhooksResume(webhooks);
  addWebhooksRotateSecret(webhooks);
  addWebhooksDelete(webhooks);
  addWebhooksTest(webhooks);
  addWebhooksDeliveries(webhooks);
}

const examples = `
Examples:
  $ petstore webhooks create --url https://shop.example/stock --crossing 5
  $ petstore webhooks test whk_4kD0aT7uLw2QxYzB
  $ petstore webhooks deliveries whk_4kD0aT7uLw2QxYzB`;
