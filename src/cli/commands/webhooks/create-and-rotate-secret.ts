import { randomBytes } from "node:crypto";
import { type Command, Option } from "commander";
import type { Store } from "../../../domain/store/store.ts";
import {
  formerSecretMs,
  mintSigningSecret,
  mintWebhookId,
  newProgress,
  type Webhook,
} from "../../../domain/webhook.ts";
import { isLocalName, isPublicAddress, literalAddress } from "../../../webhooks/address.ts";
import { isSealed, SecretBox } from "../../../webhooks/secret-box.ts";
import { Failure, usageFailure } from "../../failure.ts";
import { parseWebhookUrl } from "../../parse/address.ts";
import { argument } from "../../parse/argument.ts";
import { parsePetIds, parseQuantity } from "../../parse/number.ts";
import { printable } from "../../print/terminal.ts";
import { printSigningSecret } from "../../print/webhook.ts";
import { createOption } from "../../settings/settings.ts";
import { withExistingStore, withStore } from "../../store-file.ts";
import { readBounds, requireWebhook } from "./webhook-lookup.ts";

const parseUrl = argument(parseWebhookUrl, "an http or https URL with a host, without credentials and fragment");

/** `petstore webhooks create`. */
export function addWebhooksCreate(webhooks: Command): void {
  webhooks
    .command("create")
    .summary("create a webhook and print its secret once")
    .description("Creates a webhook and prints the secret that signs its requests.")
    .option("--url <url>", "where changes are posted to, over http or https", parseUrl)
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
  // A webhook for a pet that does not exist would never deliver.
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

/** A server checks the address of a name only when it connects. */
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
