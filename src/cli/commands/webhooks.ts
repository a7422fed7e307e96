import { randomBytes } from "node:crypto";
import { type Command, Option } from "commander";
import { type HistoryBounds, isNextKept, keptSinceMs } from "../../domain/history.ts";
import type { Store } from "../../domain/store.ts";
import {
  formerSecretMs,
  keptAttempts,
  maxWebhookPets,
  mintSigningSecret,
  mintWebhookId,
  newProgress,
  type Webhook,
} from "../../domain/webhook.ts";
import { isLocalName, isPublicAddress, literalAddress } from "../../webhooks/address.ts";
import { attemptDelivery, createTestDelivery } from "../../webhooks/delivery.ts";
import { sendPost } from "../../webhooks/post.ts";
import { isEncrypted, SecretCipher } from "../../webhooks/secret-cipher.ts";
import { argument, parsePetIds, parseQuantity, parseWebhookUrl } from "../arguments.ts";
import { Failure, usageFailure } from "../failure.ts";
import { formatTime } from "../print/format.ts";
import { printable, printableJson, printableJsonLine, terminalWidth } from "../print/terminal.ts";
import { attemptToJson, formatAttempts, formatWebhooks, printSigningSecret, webhookToJson } from "../print/webhooks.ts";
import { addSettings } from "../settings/resolve.ts";
import { createOption, type SettingKey, type SettingValues } from "../settings/settings.ts";
import { withExistingStore, withStore } from "../store.ts";

/** `petstore webhooks …`: where changes of stock are posted to. */
export function addWebhooks(program: Command): void {
  const webhooks = program
    .command("webhooks")
    .summary("create, list, pause and delete webhooks")
    .description(
      "Manages the URLs that a server posts changes of stock to. Running servers apply each change within a second.",
    )
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

const parseUrl = argument(parseWebhookUrl, "an http or https URL with a host, without credentials and fragment");

/** `petstore webhooks create`. */
function addWebhooksCreate(webhooks: Command): void {
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
    .addHelpText("after", createHelp)
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
  const { url, secretKey, pet = [] } = options;
  if (url === undefined) {
    throw usageFailure("name the URL of the receiver, with --url https://…");
  }
  if (pet.length > maxWebhookPets) {
    throw usageFailure(`name at most ${maxWebhookPets} pets with --pet, or none for the changes of all`);
  }
  const id = mintWebhookId(randomBytes);
  const secret = mintSigningSecret(randomBytes);
  const stored = new SecretCipher(secretKey).encrypt(secret, id);
  // A new store has no pets that a webhook could be for.
  await withStore(options.db, pet.length === 0 ? "create" : "refuse", async (store) => {
    await store.createWebhook(await buildWebhook({ ...options, url }, { id, secret: stored }, store));
    if (secretKey === undefined && (await store.listWebhooks()).some((webhook) => isEncrypted(webhook.secret))) {
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
    createdAtMs: await store.now(),
    secret,
    formerSecret: undefined,
    paused: undefined,
    progress: newProgress(from === "now" ? head : oldest - 1n),
  };
}

/**
 * Warns about a literal address or a local name that is not public. A server checks other names only when it connects.
 */
function warnAboutPrivateAddress(url: URL): void {
  const literal = literalAddress(url);
  if (isLocalName(url) || (literal !== undefined && !isPublicAddress(literal))) {
    const host = printable(url.hostname);
    process.stderr.write(
      `petstore: warning: ${host} is not public; a server delivers to it only with 'serve --allow-private'\n`,
    );
  }
}

const createHelp = `
Changes are posted in their order, up to 100 at a time, at least once. Requests
are signed as Standard Webhooks says: the header webhook-signature. With
PETSTORE_SECRET_KEY set, here and for the server, the store keeps the secret
encrypted.

Examples:
  $ petstore webhooks create --url https://shop.example/stock
  $ petstore webhooks create --url https://shop.example/low --crossing 5 --pet 7
  $ petstore webhooks create --url https://erp.example/all --from start --json`;

/** `petstore webhooks rotate-secret ID`. */
function addWebhooksRotateSecret(webhooks: Command): void {
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
  const stored = new SecretCipher(options.secretKey).encrypt(secret, id);
  const { url } = await withExistingStore(options.db, async (store) => {
    const webhook = requireWebhook(await store.getWebhook(id), id);
    if (isEncrypted(webhook.secret) && options.secretKey === undefined) {
      throw new Failure("the store keeps its secret encrypted: set PETSTORE_SECRET_KEY, as for the server");
    }
    const formerEndsAtMs = (await store.now()) + formerSecretMs;
    return requireWebhook(await store.rotateWebhookSecret(id, stored, formerEndsAtMs), id);
  });
  printSigningSecret({ id, url, secret }, options);
}

/** `petstore webhooks list`. */
function addWebhooksList(webhooks: Command): void {
  webhooks
    .command("list")
    .summary("list the webhooks, without secrets")
    .description("Lists the webhooks in the order of their creation.")
    .option("--json", "print an array of objects")
    .addHelpText("after", listHelp)
    .action(async (_options, command: Command) => {
      const { db, json } = command.optsWithGlobals<{ db: string; json?: true }>();
      const [listed, { head }, nowMs] = await withExistingStore(db, (store) =>
        Promise.all([store.listWebhooks(), store.historyBounds(0), store.now()]),
      );
      process.stdout.write(
        json
          ? `${printableJson(listed.map((webhook) => webhookToJson(webhook, head)))}\n`
          : formatWebhooks(listed, { head, nowMs, width: terminalWidth() }),
      );
    });
}

const listHelp = `
STATE is 'active', 'failing' since its first failure in a row, or 'paused' and
why: by an operator, after 3 days of failures, or as its next change is no
longer part of the history. BEHIND is how many changes were made since the last
one that was delivered; a filter may leave out some of them. On a terminal, a
long URL is cut; --json prints all of it.`;

/** `petstore webhooks test ID`. */
function addWebhooksTest(webhooks: Command): void {
  webhooks
    .command("test")
    .summary("send a signed test request from this machine")
    .description("Posts a signed request of the type webhook.test, and tells the outcome.")
    .argument("<id>", "the webhook's id, whk_…")
    .addOption(createOption("allowPrivate"))
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
  const [found, storeNowMs] = await withExistingStore(db, (store) => Promise.all([store.getWebhook(id), store.now()]));
  const webhook = requireWebhook(found, id);
  // Receivers refuse a time that is far from theirs, and this machine's clock may be.
  const aheadMs = Date.now() - storeNowMs;
  const clock = () => Date.now() - aheadMs;
  const delivery = createTestDelivery(webhook, randomBytes(12).toString("base64url"), storeNowMs);
  const { attempt } = await attemptDelivery(webhook, delivery, new AbortController().signal, {
    send: sendPost,
    secrets: new SecretCipher(secretKey),
    allowPrivate,
    clock,
  });
  if (attempt.fault !== undefined) {
    throw new Failure(`${id} was not delivered to: ${attempt.fault}`);
  }
  process.stdout.write(`${printable(`${id} answered ${attempt.status} in ${Math.round(attempt.durationMs)} ms`)}\n`);
}

/** `petstore webhooks deliveries ID`. */
function addWebhooksDeliveries(webhooks: Command): void {
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

/** `petstore webhooks pause ID`. */
function addWebhooksPause(webhooks: Command): void {
  addChange(webhooks, {
    name: "pause",
    summary: "stop deliveries to a webhook, and keep its place",
    description: "Stops deliveries to a webhook, and keeps its place.",
    async run(store, id) {
      const nowMs = await store.now();
      const { paused } = requireWebhook(await store.pauseWebhook(id, "operator", nowMs), id);
      const atMs = paused?.atMs ?? nowMs;
      return atMs === nowMs ? `paused ${id}` : `${id} was already paused, on ${formatTime(atMs)}`;
    },
  });
}

/** `petstore webhooks resume ID`. */
function addWebhooksResume(webhooks: Command): void {
  addChange(webhooks, {
    name: "resume",
    summary: "go on with the deliveries to a webhook",
    description:
      "Goes on with the deliveries to a webhook. Needs the server's --history-retention, to say whether changes are lost.",
    settings: ["historyRetention"],
    async run(store, id, { historyRetention }) {
      const { progress, paused } = requireWebhook(await store.getWebhook(id), id);
      const bounds = await readBounds(store, historyRetention);
      // A server may keep the history for a shorter time than the settings here say.
      const isBehind = paused?.reason === "history" || !isNextKept(progress.position, bounds);
      await store.resumeWebhook(id, isBehind ? bounds.head : undefined);
      if (isBehind) {
        return `resumed ${id} with the next change; others are no longer kept: list the inventory anew`;
      }
      return paused === undefined ? `${id} was not paused; it is tried again now` : `resumed ${id}`;
    },
  });
}

/** `petstore webhooks delete ID`. */
function addWebhooksDelete(webhooks: Command): void {
  addChange(webhooks, {
    name: "delete",
    summary: "delete a webhook for good",
    description: "Deletes a webhook for good.",
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
  readonly description: string;
  readonly settings?: readonly SettingKey[];
  /** Makes the change. Resolves to what is printed. */
  readonly run: (store: Store, id: string, values: Pick<SettingValues, "historyRetention">) => Promise<string>;
}

function addChange(webhooks: Command, { name, summary, description, settings = [], run }: Change): void {
  const change = webhooks
    .command(name)
    .summary(summary)
    .description(`${description} Running servers follow within a second.`)
    .argument("<id>", "the webhook's id, whk_…")
    .action(async (id: string, _options, command: Command) => {
      const { db, ...values } = command.optsWithGlobals<{ db: string; historyRetention: number }>();
      const text = await withExistingStore(db, (store) => run(store, id, values));
      process.stdout.write(`${printable(text)}\n`);
    });
  addSettings(change, settings);
}

/** A generous bound on the time until a server notices a webhook and begins with it, in milliseconds. */
const startMs = 60_000;

/** The bounds of the history that a server with this retention still has when it begins to deliver. */
async function readBounds(store: Store, retentionMs: number): Promise<HistoryBounds> {
  return store.historyBounds(keptSinceMs(retentionMs, (await store.now()) + startMs));
}

/** The webhook with an id, as the store has answered. Throws a `Failure` when there is none. */
function requireWebhook(webhook: Webhook | undefined, id: string): Webhook {
  if (webhook === undefined) {
    throw unknownWebhook(id);
  }
  return webhook;
}

/** The failure of a command that names an unknown webhook. A secret in the place of the id is not repeated. */
function unknownWebhook(id: string): Failure {
  const advice = "'petstore webhooks list' lists all webhooks";
  return new Failure(
    id.includes("whsec_")
      ? `a webhook is named by its id, not by its secret; ${advice}`
      : `there is no webhook ${printableJsonLine(id)}; ${advice}`,
  );
}
