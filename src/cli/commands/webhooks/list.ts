import type { Command } from "commander";
import { printableJson } from "../../print/printable.ts";
import { terminalWidth } from "../../print/table.ts";
import { formatWebhooks, webhookToJson } from "../../print/webhook.ts";
import { withExistingStore } from "../../store-file.ts";

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
