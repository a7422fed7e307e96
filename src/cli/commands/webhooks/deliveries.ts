import type { Command } from "commander";
import { keptAttempts } from "../../../domain/webhook.ts";
import { printableJson } from "../../print/printable.ts";
import { terminalWidth } from "../../print/table.ts";
import { attemptToJson, formatAttempts } from "../../print/webhook.ts";
import { withExistingStore } from "../../store-file.ts";
import { requireWebhook } from "./webhook-lookup.ts";

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
