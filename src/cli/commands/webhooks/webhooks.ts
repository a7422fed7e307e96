import type { Command } from "commander";
import { addWebhooksCreate, addWebhooksRotateSecret } from "./create-and-rotate-secret.ts";
import { addWebhooksDeliveries, addWebhooksList, addWebhooksTest } from "./list-test-deliveries.ts";
import { addWebhooksDelete, addWebhooksPause, addWebhooksResume } from "./pause-resume-delete.ts";

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
