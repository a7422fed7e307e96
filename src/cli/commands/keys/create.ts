import { randomBytes } from "node:crypto";
import { type Command, Option } from "commander";
import { type Key, mintKeyId, newKey, type Plan, plans, type Scope, scopes } from "../../../domain/key.ts";
import { hashSecret, mintSecret } from "../../../domain/key-secret.ts";
import { usageFailure } from "../../failure.ts";
import {
  customQuotaFor,
  parseKeyName,
  parseLifetime,
  parseLimit,
  parseScopes,
  planNames,
  type QuotaFlags,
} from "../../parse/key-flags.ts";
import { printSecret } from "../../print/key.ts";
import { withStore } from "../../store-file.ts";
import { takenFailure } from "./key-lookup.ts";

/** `petstore keys create`. */
export function addKeysCreate(keys: Command): void {
  keys
    .command("create")
    .summary("create a key and print it once")
    .description("Creates an API key and prints it. Only its hash is stored, so it cannot be shown again.")
    .addOption(new Option("--plan <plan>", "the plan, which sets the limits").choices(plans))
    .option("--name <name>", "its name in lists", parseKeyName, "")
    .option("--per-minute <n>", "requests a minute, for an enterprise key", parseLimit)
    .option("--per-day <n>", "requests a day, for an enterprise key", parseLimit)
    .option("--scope <scope>", `may be repeated: ${scopes.join(", ")} (default: all)`, parseScopes)
    .option("--expires-in <duration>", "how long it is valid, such as 12h or 30d (default: forever)", parseLifetime)
    .option("--json", "print an object with id, key and plan")
    .addHelpText("after", help)
    .action(async (_options, command: Command) => createKey(command.optsWithGlobals<KeyOptions>()));
}

interface KeyOptions extends QuotaFlags {
  readonly db: string;
  readonly plan?: Plan;
  readonly name: string;
  readonly scope?: readonly Scope[];
  /** In milliseconds. */
  readonly expiresIn?: number;
  readonly json?: true;
}

async function createKey(options: KeyOptions): Promise<void> {
  const key = buildKey(options, Date.now());
  const secret = mintSecret(randomBytes);
  const creation = await withStore(options.db, "create", (store) => store.createKey(key, hashSecret(secret)));
  if (creation === "taken") {
    throw takenFailure();
  }
  printSecret(key, secret, options);
}

function buildKey(options: KeyOptions, nowMs: number): Key {
  const { plan, name, expiresIn, scope = scopes } = options;
  if (plan === undefined) {
    throw usageFailure(`name the plan of the key, with --plan: ${planNames}`);
  }
  return newKey({
    id: mintKeyId(randomBytes),
    name,
    plan,
    customQuota: customQuotaFor(plan, options),
    scopes: scopes.filter((each) => scope.includes(each)),
    createdAtMs: nowMs,
    expiresAtMs: expiresIn === undefined ? undefined : nowMs + expiresIn,
  });
}

const help = `
--plan is required. An enterprise key also needs --per-minute and --per-day.

Examples:
  $ petstore keys create --plan pro --name "Till 3"
  $ petstore keys create --plan free --scope inventory:read --expires-in 30d
  $ petstore keys create --plan enterprise --per-minute 5000 --per-day 1000000`;
