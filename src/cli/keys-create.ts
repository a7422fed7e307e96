import { randomBytes } from "node:crypto";
import { type Command, Option } from "commander";
import { type Key, mintKeyId, newKey, type Scope, scopes } from "../domain/key.ts";
import { hashSecret, mintSecret } from "../domain/key-secret.ts";
import { type Plan, plans, type Quota } from "../domain/plan.ts";
import { argument, listArgument } from "./argument.ts";
import { durationForm, parseDuration } from "./duration.ts";
import { usageFailure } from "./failure.ts";
import { keyNameForm, parseKeyName } from "./key-name.ts";
import { printSecret } from "./secret.ts";
import { withStore } from "./store-file.ts";
import { parsePositiveNumber } from "./whole-number.ts";

/** `petstore keys create`. */
export function addKeysCreate(keys: Command): void {
  const limit = argument(parsePositiveNumber, "a whole number from 1 on");
  keys
    .command("create")
    .summary("create a key and print it, once")
    .description("Creates an API key and prints it. Only its hash is kept: it cannot be shown again.")
    .addOption(new Option("--plan <plan>", "the plan, which sets the limits").choices(plans).makeOptionMandatory())
    .option("--name <name>", "what to call it, in lists", argument(parseKeyName, keyNameForm), "")
    .option("--per-minute <n>", "requests a minute, for an enterprise key", limit)
    .option("--per-day <n>", "requests a day, for an enterprise key", limit)
    .option("--scope <scope>", `may be repeated: ${scopes.join(", ")} (default: all)`, parseScopes)
    .option("--expires-in <duration>", "when it ends, such as 12h or 30d (default: never)", parseLifetime)
    .option("--json", "print an object with id, key and plan")
    .addHelpText("after", examples)
    .action(async (_options, command: Command) => createKey(command.optsWithGlobals<KeyOptions>()));
}

interface KeyOptions {
  readonly db: string;
  readonly plan: Plan;
  readonly name: string;
  readonly perMinute?: number;
  readonly perDay?: number;
  readonly scope?: readonly Scope[];
  /** In milliseconds. */
  readonly expiresIn?: number;
  readonly json?: true;
}

async function createKey(options: KeyOptions): Promise<void> {
  const key = buildKey(options, Date.now());
  const secret = mintSecret(randomBytes);
  await withStore(options.db, "create", (store) => store.createKey(key, hashSecret(secret)));
  printSecret(key, secret, options);
}

function buildKey(options: KeyOptions, nowMs: number): Key {
  const { plan, name, expiresIn, scope = scopes } = options;
  return newKey({
    id: mintKeyId(randomBytes),
    name,
    plan,
    customQuota: customQuotaOf(options),
    scopes: scopes.filter((each) => scope.includes(each)),
    createdAtMs: nowMs,
    expiresAtMs: expiresIn === undefined ? undefined : nowMs + expiresIn,
  });
}

function customQuotaOf({ plan, perMinute, perDay }: KeyOptions): Quota | undefined {
  if (plan !== "enterprise") {
    if (perMinute === undefined && perDay === undefined) {
      return undefined;
    }
    throw usageFailure(`the limits of the ${plan} plan are fixed: leave --per-minute and --per-day out`);
  }
  if (perMinute !== undefined && perDay !== undefined) {
    return { perMinute, perDay };
  }
  throw usageFailure("an enterprise key needs both --per-minute and --per-day");
}

const parseScopes = listArgument((text) => scopes.find((scope) => scope === text), `one of ${scopes.join(", ")}`);

const parseLifetime = argument((text) => parseDuration(text) || undefined, `${durationForm}, and not nothing`);

const examples = `
Examples:
  $ petstore keys create --plan pro --name "Till 3"
  $ petstore keys create --plan free --scope inventory:read --scope pets:read --expires-in 30d
  $ petstore keys create --plan enterprise --per-minute 5000 --per-day 1000000 --json`;
