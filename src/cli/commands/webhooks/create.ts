import { randomBytes } from "node:crypto";
import { type Command, Option } from "commander";
import type { Store } from "../../../domain/store/store.ts";
import { mintSigningSecret, mintWebhookId, newProgress, type Webhook } from "../../../domain/webhook.ts";
import { isLocalName, isPublicAddress, literalAddress } from "../../../webhooks/address.ts";
import { isSealed, SecretBox } from "../../../webhooks/secret-box.ts";
import { usageFailure } from "../../failure.ts";
import { parsePetIds, parseQuantity } from "../../parse/int64.ts";
import { parseWebhookUrl } from "../../parse/webhook-url.ts";
import { printable } from "../../print/printable.ts";
import { printSigningSecret } from "../../print/webhook.ts";
import { createOption } from "../../settings/option.ts";
import { withStore } from "../../store-file.ts";
import { readBounds } from "./webhook-lookup.ts";

/** `petstore webhooks create`. */
export function addWebhooksCreate(webhooks: Command): void {
  webhooks
    .command("create")
    .summary("create a webhook and print its secret once")
    .description("Creates a webhook and prints the secret that signs its requests.")
    .option("--url <url>", "where changes are posted to, over http or https", parseWebhookUrl)
    .option("--crossing <n>", "only changes that take a count to N or below", parseQuantity)
    .option("--pet <id>", "only changes of this pet; repeatable", parsePetIds)
    .addOption(
      new Option("--from <place>", "begin with the oldest change, or the next")
        .choices(["start", "now"])
        .default("now"),
    )
    .addOption(createOption("secretKey"))
    .addOption(createOption("historyRetention"))
    .option("--json", "print an object with id, url and secret")
    .addHelpText("after", help)
    .action(async (_options, command: Command) => createWebhook(command.optsWithGlobals<CreateOptions>()));
}

interface CreateOptions {
  readonly db: string;
  readonly url?: string;
  readonly crossing?: bigint;
  readonly pet?: readonly bigint[];
  readonly from: "start" | "now";
  readonly secretKey?: Uint8Array;
  readonly historyRetention: number;
  readonly json?: true;
}

async function createWebhook(options: CreateOptions): Promise<void> {
  const { url, secretKey } = options;
  if (url === undefined) {
    throw usageFailure("name the URL of the receiver, with --url https://…");
  }
  const id = mintWebhookId(randomBytes);
  const secret = mintSigningSecret(randomBytes);
  const sealed = new SecretBox(secretKey).seal(secret, id);
  await withStore(options.db, "create", async (store) => {
    await store.createWebhook(await buildWebhook({ ...options, url }, { id, secret: sealed }, store));
    if (secretKey === undefined && (await store.listWebhooks()).some((webhook) => isSealed(webhook.secret))) {
      process.stderr.write("petstore: warning: without PETSTORE_SECRET_KEY, this secret alone is not encrypted\n");
    }
  });
  warnAboutPrivateAddress(new URL(url));
  printSigningSecret({ id, url, secret }, options);
}

async function buildWebhook(
  { url, crossing, pet = [], from, historyRetention }: CreateOptions & { readonly url: string },
  { id, secret }: Pick<Webhook, "id" | "secret">,
  store: Store,
): Promise<Webhook> {
  // A pet that does not exist would never be told of.
  await Promise.all(pet.map((petId) => store.getEntry(petId)));
  const { head, oldest } = await readBounds(store, historyRetention);
  return {
    id,
    url,
    filter: { petIds: pet, crossing },
    createdAtMs: Date.now(),
    secret,
    formerSecret: undefined,
    paused: undefined,
    progress: newProgress(from === "now" ? head : oldest - 1n),
  };
}

/** The address of a name is judged when it is connected to. */
function warnAboutPrivateAddress(url: URL): void {
  const literal = literalAddress(url);
  if (isLocalName(url) || (literal !== undefined && !isPublicAddress(literal))) {
    const host = printable(url.hostname);
    process.stderr.write(
      `petstore: warning: ${host} is not public; a server delivers to it with 'serve --allow-private' alone\n`,
    );
  }
}

const help = `
Changes are posted in their order, up to 100 at a time, at least once. Requests
are signed as Standard Webhooks says: the header webhook-signature. With
PETSTORE_SECRET_KEY set, here and for the server, the store keeps the secret
encrypted.

Examples:
  $ petstore webhooks create --url https://shop.example/stock
  $ petstore webhooks create --url https://shop.example/low --crossing 5 --pet 7
  $ petstore webhooks create --url https://erp.example/all --from start --json`;
