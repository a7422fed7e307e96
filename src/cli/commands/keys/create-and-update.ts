import { randomBytes } from "node:crypto";
import { type Command, Option } from "commander";
import {
  hashSecret,
  type Key,
  type KeySettings,
  mintKeyId,
  mintSecret,
  newKey,
  type Plan,
  plans,
  type Scope,
  scopes,
} from "../../../domain/key.ts";
import type { Quota } from "../../../domain/limits.ts";
import type { Store } from "../../../domain/store/store.ts";
import { usageFailure } from "../../failure.ts";
import { argument, listArgument } from "../../parse/argument.ts";
import { durationForm, parseDuration, parseWholeNumber } from "../../parse/number.ts";
import { describeChange, keyToJson, loadKeyStatus, printSecret } from "../../print/key.ts";
import { printable, printableJson } from "../../print/terminal.ts";
import { withExistingStore, withStore } from "../../store-file.ts";
import { requireKey, requireKnown, revokedFailure, takenFailure } from "./key-lookup.ts";

const maxNameLength = 100;

/** Reads the name of a key, which may be empty. */
const parseKeyName = argument((text) => {
  const isName = Array.from(text).length <= maxNameLength && !/[\p{Cc}\p{Zl}\p{Zp}]/u.test(text);
  return isName ? text : undefined;
}, `${maxNameLength} characters at most, with no line break or other control character`);

/** Reads a number of requests for an enterprise key. */
const parseLimit = argument((text) => parseWholeNumber(text) || undefined, "a whole number from 1 on");

/** Reads a scope, or several separated by commas. */
const parseScopes = listArgument((text) => scopes.find((scope) => scope === text), `one of ${scopes.join(", ")}`);

/** Reads how long a key is valid, in milliseconds. */
const parseLifetime = argument((text) => parseDuration(text) || undefined, `${durationForm}, and not zero`);

/** The plans, as a sentence names them. */
const planNames = `${plans.slice(0, -1).join(", ")} or ${plans.at(-1)}`;

/** The flags with the limits of an enterprise key. */
interface QuotaFlags {
  readonly perMinute?: number;
  readonly perDay?: number;
}

/**
 * The limits of a key on a plan; undefined for a plan whose limits are fixed. `former` is the quota that an enterprise
 * key has so far. Throws a `Failure` for limits that are missing, or not allowed.
 */
function customQuotaFor(plan: Plan, flags: QuotaFlags, former?: Quota): Quota | undefined {
  if (plan !== "enterprise") {
    if (flags.perMinute === undefined && flags.perDay === undefined) {
      return undefined;
    }
    throw usageFailure(`the limits of the ${plan} plan are fixed: leave out --per-minute and --per-day`);
  }
  const { perMinute = former?.perMinute, perDay = former?.perDay } = flags;
  if (perMinute !== undefined && perDay !== undefined) {
    return { perMinute, perDay };
  }
  throw usageFailure("an enterprise key needs both --per-minute and --per-day");
}

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
    .addHelpText("after", createHelp)
    .action(async (_options, command: Command) => createKey(command.optsWithGlobals<CreateOptions>()));
}

interface CreateOptions extends QuotaFlags {
  readonly db: string;
  readonly plan?: Plan;
  readonly name: string;
  readonly scope?: readonly Scope[];
  /** In milliseconds. */
  readonly expiresIn?: number;
  readonly json?: true;
}

async function createKey(options: CreateOptions): Promise<void> {
  const key = buildKey(options, Date.now());
  const secret = mintSecret(randomBytes);
  const creation = await withStore(options.db, "create", (store) => store.createKey(key, hashSecret(secret)));
  if (creation === "taken") {
    throw takenFailure();
  }
  printSecret(key, secret, options);
}

function buildKey(options: CreateOptions, nowMs: number): Key {
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

const createHelp = `
--plan is required. An enterprise key also needs --per-minute and --per-day.

Examples:
  $ petstore keys create --plan pro --name "Till 3"
  $ petstore keys create --plan free --scope inventory:read --expires-in 30d
  $ petstore keys create --plan enterprise --per-minute 5000 --per-day 1000000`;

/** `petstore keys update ID`. */
export function addKeysUpdate(keys: Command): void {
  keys
    .command("update")
    .summary("change the name, plan, scopes or end of a key")
    .description(
      "Changes the settings that the flags name. The secret, counters and bans stay. " +
        "Running servers apply the change within a second.",
    )
    .argument("<id>", "the key's id, key_…")
    .option("--name <name>", "its name in lists", parseKeyName)
    .addOption(new Option("--plan <plan>", "the plan, which sets the limits").choices(plans))
    .option("--per-minute <n>", "requests a minute, for an enterprise key", parseLimit)
    .option("--per-day <n>", "requests a day, for an enterprise key", parseLimit)
    .option("--scope <scope>", `everything that it may do; may be repeated: ${scopes.join(", ")}`, parseScopes)
    .addOption(
      new Option("--expires-in <duration>", "how long it is valid from now on, such as 12h or 30d").argParser(
        parseLifetime,
      ),
    )
    .addOption(new Option("--no-expiry", "make it valid forever").conflicts("expiresIn"))
    .option("--json", "print an object, as in 'keys list --json'")
    .addHelpText("after", updateHelp)
    .action(async (id: string, _options, command: Command) => {
      await printUpdate(id, command.optsWithGlobals<UpdateOptions>());
    });
}

interface UpdateOptions extends QuotaFlags {
  readonly db: string;
  readonly name?: string;
  readonly plan?: Plan;
  readonly scope?: readonly Scope[];
  /** In milliseconds. */
  readonly expiresIn?: number;
  /** False to remove the end of the key. */
  readonly expiry: boolean;
  readonly json?: true;
}

async function printUpdate(id: string, options: UpdateOptions): Promise<void> {
  const { name, plan, perMinute, perDay, scope, expiresIn, expiry, json } = options;
  if ([name, plan, perMinute, perDay, scope, expiresIn].every((given) => given === undefined) && expiry) {
    throw usageFailure(
      "nothing to update: give --name, --plan, --per-minute, --per-day, --scope, --expires-in or --no-expiry",
    );
  }
  await withExistingStore(options.db, async (store) => {
    const nowMs = Date.now();
    const [former, key] = await update(store, id, (each) => change(each, options, nowMs));
    process.stdout.write(
      json
        ? `${printableJson(keyToJson(await loadKeyStatus(store, key, nowMs)))}\n`
        : `${printable(describeChange(former, key))}\n`,
    );
  });
}

/** Updates a key. Retries when another process has changed it meanwhile. */
async function update(store: Store, id: string, apply: (key: Key) => KeySettings): Promise<[former: Key, key: Key]> {
  for (;;) {
    const former = await requireKey(store, id);
    const settings = apply(former);
    const { outcome, key } = requireKnown(await store.updateKey(former, settings), id);
    if (outcome === "revoked") {
      throw revokedFailure(key, "create a new key");
    }
    if (outcome === "done") {
      return [former, key];
    }
  }
}

/** Throws a `Failure` for limits that the plan does not allow, or lacks. */
function change(key: Key, options: UpdateOptions, nowMs: number): KeySettings {
  const { name = key.name, plan = key.plan, scope = key.scopes, expiresIn, expiry } = options;
  const expiresAtMs = expiresIn === undefined ? key.expiresAtMs : nowMs + expiresIn;
  return {
    name,
    plan,
    customQuota: customQuotaFor(plan, options, key.customQuota),
    scopes: scopes.filter((each) => scope.includes(each)),
    expiresAtMs: expiry ? expiresAtMs : undefined,
  };
}

const updateHelp = `
A change from enterprise to another plan drops the two numbers. A change to
enterprise needs both. Past usage counts against the new limits.

Examples:
  $ petstore keys update key_4kD0aT7uLw2QxYzB --plan business
  $ petstore keys update key_4kD0aT7uLw2QxYzB --scope inventory:read --no-expiry`;
