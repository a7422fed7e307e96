import type { Command } from "commander";
import type { Store } from "../../../domain/store/store.ts";
import { formatMinute } from "../../print/number.ts";
import { printable } from "../../print/terminal.ts";
import { addSettings } from "../../settings/resolve.ts";
import type { SettingKey, SettingValues } from "../../settings/settings.ts";
import { withExistingStore } from "../../store-file.ts";
import { readBounds, requireWebhook, unknownWebhook } from "./webhook-lookup.ts";

/** `petstore webhooks pause ID`. */
export function addWebhooksPause(webhooks: Command): void {
  addChange(webhooks, {
    name: "pause",
    summary: "stop deliveries to a webhook, and keep its place",
    async run(store, id) {
      const nowMs = Date.now();
      const { paused } = requireWebhook(await store.pauseWebhook(id, "operator", nowMs), id);
      const atMs = paused?.atMs ?? nowMs;
      return atMs === nowMs ? `paused ${id}` : `${id} was already paused, on ${formatMinute(atMs)}`;
    },
  });
}

/** `petstore webhooks resume ID`. */
export function addWebhooksResume(webhooks: Command): void {
  addChange(webhooks, {
    name: "resume",
    summary: "go on with the deliveries to a webhook",
    settings: ["historyRetention"],
    async run(store, id, { historyRetention }) {
      const { progress, paused } = requireWebhook(await store.getWebhook(id), id);
      const { head, oldest } = await readBounds(store, historyRetention);
      const isBehind = progress.position + 1n < oldest;
      await store.resumeWebhook(id, isBehind ? head : undefined);
      if (isBehind) {
        return `resumed ${id} with the next change; others are no longer kept: list the inventory anew`;
      }
      return paused === undefined ? `${id} was not paused; it is tried again now` : `resumed ${id}`;
    },
  });
}

/** `petstore webhooks delete ID`. */
export function addWebhooksDelete(webhooks: Command): void {
  addChange(webhooks, {
    name: "delete",
    summary: "delete a webhook for good",
    async run(store, id) {
      if (!(await store.deleteWebhook(id))) {
        throw unknownWebhook(id);
      }
      return `deleted ${id}`;
    },
  });
}

interface Change {
  readonly name: string;
  readonly summary: string;
  readonly settings?: readonly SettingKey[];
  /** Makes the change. Resolves to what is printed. */
  readonly run: (store: Store, id: string, values: Pick<SettingValues, "historyRetention">) => Promise<string>;
}

function addChange(webhooks: Command, { name, summary, settings = [], run }: Change): void {
  const change = webhooks
    .command(name)
    .summary(summary)
    .description(`${summary.charAt(0).toUpperCase()}${summary.slice(1)}. Running servers do so within a second.`)
    .argument("<id>", "the webhook's id, whk_…")
    .action(async (id: string, _options, command: Command) => {
      const { db, ...values } = command.optsWithGlobals<{ db: string; historyRetention: number }>();
      const text = await withExistingStore(db, (store) => run(store, id, values));
      process.stdout.write(`${printable(text)}\n`);
    });
  addSettings(change, settings);
}
