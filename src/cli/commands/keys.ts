import { randomBytes } from "node:crypto";
import { type Command, Option } from "commander";
import {
  hashSecret,
  type Key,
  type KeySettings,
  mayHoldSecret,
  mintKeyId,
  mintSecret,
  newKey,
  type Plan,
  plans,
  type Quota,
  type Scope,
  scopes,
} from "../../domain/key.ts";
import { allowanceOf, describeLimits, noUsage } from "../../domain/limits.ts";
import type { KeyOutcome, Store } from "../../domain/store.ts";
import { argument, durationForm, listArgument, parseDuration, parseWholeNumber } from "../arguments.ts";
import { Failure, usageFailure } from "../failure.ts";
import { formatTime } from "../print/format.ts";
import {
  describeChange,
  formatKey,
  formatKeys,
  keyStatus,
  keyToJson,
  loadKeyStatus,
  printKeySecret,
} from "../print/keys.ts";
import { printable, printableJson, printableJsonLine, terminalWidth } from "../print/terminal.ts";
import { withExistingStore, withStore } from "../store.ts";

/** `petstore keys …`: the API keys. */
export function addKeys(program: Command): void {
  const keys = program
    .command("keys")
    .summary("create, list, update and revoke API keys")
    .description("Creates, lists, updates and revokes API keys. Running servers apply changes within a second.")
    .addHelpText("after", examples);
  addKeysCreate(keys);
  addKeysList(keys);
  addKeysShow(keys);
  addKeysUpdate(keys);
  addKeysRotate(keys);
  addKeysRevoke(keys);
  addKeysUnban(keys);
}

const examples = `
Examples:
  $ petstore keys create --plan free --name "Till 3" --scope inventory:read
  $ petstore keys list
  $ petstore keys update key_4kD0aT7uLw2QxYzB --plan pro
  $ petstore keys rotate key_4kD0aT7uLw2QxYzB --grace 7d`;

const maxNameLength = 100;

/** Reads the name of a key, which may be empty. */
const parseKeyName = argument((text) => {
  const isName = Array.from(text).length <= maxNameLength && !/[\p{Cc}\p{Zl}\p{Zp}]/u.test(text);
  return isName ? text : undefined;
}, `${maxNameLength} characters at most, with no line break or other control character`);

/** The largest integer that the `RateLimit` headers can hold. Source: RFC 9651, 3.3.1 */
const maxLimit = 999_999_999_999_999;

/** Reads a number of requests for an enterprise key. */
const parseLimit = argument((text) => {
  const limit = parseWholeNumber(text) ?? 0;
  return limit >= 1 && limit <= maxLimit ? limit : undefined;
}, `a whole number from 1 to ${maxLimit}`);

/** Reads a scope, or several separated by commas. */
const parseScopes = listArgument((text) => scopes.find((scope) => scope === text), `one of ${scopes.join(", ")}`);

/** Reads how long a key is valid, in milliseconds. */
const parseLifetime = argument((text) => parseDuration(text) || undefined, `${durationForm}, and not zero`);

/** The plans, as a sentence names them. */
const planNames = `${plans.slice(0, -1).join(", ")} or ${plans.at(-1)}`;

/** The flags that say what a key may do, and for how long. The limits are those of an enterprise key. */
interface SettingFlags {
  readonly db: string;
  readonly plan?: Plan;
  readonly perMinute?: number;
  readonly perDay?: number;
  readonly scope?: readonly Scope[];
  /** In milliseconds. */
  readonly expiresIn?: number;
  readonly json?: true;
}

/**
 * The limits of a key on a plan; undefined for a plan whose limits are fixed. `former` is the quota that an enterprise
 * key has so far. Throws a `Failure` for limits that are missing, or not allowed.
 */
function customQuotaFor(plan: Plan, flags: SettingFlags, former?: Quota): Quota | undefined {
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
function addKeysCreate(keys: Command): void {
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

type CreateOptions = SettingFlags & { readonly name: string };

async function createKey(options: CreateOptions): Promise<void> {
  const build = keyBuilder(options);
  const secret = mintSecret(randomBytes);
  const { key, creation } = await withStore(options.db, "create", async (store) => {
    const key = build(await store.now());
    return { key, creation: await store.createKey(key, hashSecret(secret)) };
  });
  if (creation === "taken") {
    throw takenFailure();
  }
  printKeySecret(key, secret, options);
}

/** Checks the options, before a store is created. Returns what makes the key at a time. */
function keyBuilder(options: CreateOptions): (nowMs: number) => Key {
  const { plan, name, expiresIn, scope = scopes } = options;
  if (plan === undefined) {
    throw usageFailure(`name the plan of the key, with --plan: ${planNames}`);
  }
  const customQuota = customQuotaFor(plan, options);
  return (nowMs) =>
    newKey({
      id: mintKeyId(randomBytes),
      name,
      plan,
      customQuota,
      scopes: scopes.filter((each) => scope.includes(each)),
      createdAtMs: nowMs,
      expiresAtMs: expiresIn === undefined ? undefined : nowMs + expiresIn,
    });
}

const createHelp = `
--plan is required. An enterprise key also needs --per-minute and --per-day,
each from 1 to 999,999,999,999,999.

Examples:
  $ petstore keys create --plan pro --name "Till 3"
  $ petstore keys create --plan free --scope inventory:read --expires-in 30d
  $ petstore keys create --plan enterprise --per-minute 5000 --per-day 1000000`;

/** `petstore keys update ID`. */
function addKeysUpdate(keys: Command): void {
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

interface UpdateOptions extends SettingFlags {
  readonly name?: string;
  /** False to make the key valid forever. */
  readonly expiry: boolean;
}

async function printUpdate(id: string, options: UpdateOptions): Promise<void> {
  const { name, plan, perMinute, perDay, scope, expiresIn, expiry, json } = options;
  if ([name, plan, perMinute, perDay, scope, expiresIn].every((given) => given === undefined) && expiry) {
    throw usageFailure(
      "nothing to update: give --name, --plan, --per-minute, --per-day, --scope, --expires-in or --no-expiry",
    );
  }
  await withExistingStore(options.db, async (store) => {
    const nowMs = await store.now();
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

/**
 * The settings of a key after an update. Throws a `Failure` for limits that the plan does not allow, and for missing
 * limits that it needs.
 */
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
enterprise needs both, each from 1 to 999,999,999,999,999. Past usage counts
against the new limits.

Examples:
  $ petstore keys update key_4kD0aT7uLw2QxYzB --plan business
  $ petstore keys update key_4kD0aT7uLw2QxYzB --scope inventory:read --no-expiry`;

/** `petstore keys list`. */
function addKeysList(keys: Command): void {
  keys
    .command("list")
    .summary("list the keys and their usage, without secrets")
    .description("Lists the keys in the order of their creation, with their usage.")
    .option("--all", "list revoked keys too")
    .option("--wide", "show all columns in full, whatever the width")
    .option("--json", "print an array of objects")
    .addHelpText("after", listHelp)
    .action(async (_options, command: Command) => listKeys(command.optsWithGlobals<ListOptions>()));
}

interface ListOptions {
  readonly db: string;
  readonly all?: true;
  readonly wide?: true;
  readonly json?: true;
}

async function listKeys({ db, all, wide, json }: ListOptions): Promise<void> {
  const [keys, usages, nowMs] = await withExistingStore(db, (store) =>
    Promise.all([store.listKeys(), store.listUsage(), store.now()]),
  );
  const usageOf = new Map(usages.map((usage) => [usage.keyId, usage]));
  const listed = keys
    .filter(({ revokedAtMs }) => all || revokedAtMs === undefined)
    .map((key) => keyStatus(key, usageOf.get(key.id), nowMs));
  if (json) {
    process.stdout.write(`${printableJson(listed.map(keyToJson))}\n`);
    return;
  }
  process.stdout.write(
    formatKeys(listed, { nowMs, width: terminalWidth(), wide }) + describeHidden(keys.length - listed.length),
  );
}

function describeHidden(count: number): string {
  if (count === 0) {
    return "";
  }
  return `\n${count === 1 ? "1 revoked key is" : `${count} revoked keys are`} not shown; --all shows them too.\n`;
}

const listHelp = `
DAY is the number of requests in the current day window, and its limit. 'keys
show' says when the window resets. A running server saves its counts four times
a second. A wide terminal shows more columns. Keys that still call deprecated
operations are listed below, with the time of the last call.

Examples:
  $ petstore keys list
  $ petstore keys list --json | jq -r '.[] | select(.ban != null) | .name'`;

/** `petstore keys show ID`. */
function addKeysShow(keys: Command): void {
  keys
    .command("show")
    .summary("show everything about one key but its secret")
    .description("Shows the settings, usage and ban of one key, and until when its old secrets work.")
    .argument("<id>", "the key's id, key_…")
    .option("--json", "print an object, as in 'keys list --json', with the old secrets")
    .addHelpText("after", showHelp)
    .action(async (id: string, _options, command: Command) => {
      const { db, json } = command.optsWithGlobals<{ db: string; json?: true }>();
      const { status, oldSecretEnds, nowMs } = await withExistingStore(db, async (store) => {
        const nowMs = await store.now();
        const status = await loadKeyStatus(store, await requireKey(store, id), nowMs);
        return { status, oldSecretEnds: await store.listOldSecretEnds(id, nowMs), nowMs };
      });
      process.stdout.write(
        json
          ? `${printableJson({ ...keyToJson(status), oldSecrets: oldSecretEnds.map(oldSecretToJson) })}\n`
          : formatKey(status, oldSecretEnds, nowMs),
      );
    });
}

function oldSecretToJson(endMs: number): object {
  return { expiresAt: new Date(endMs).toISOString() };
}

const showHelp = `
Old secrets are those that 'keys rotate' has replaced and that still work. A
running server saves its counts four times a second.

Examples:
  $ petstore keys show key_4kD0aT7uLw2QxYzB
  $ petstore keys show key_4kD0aT7uLw2QxYzB --json | jq .day.remaining`;

/** `petstore keys rotate ID`. */
function addKeysRotate(keys: Command): void {
  const parseGrace = argument(parseDuration, durationForm);
  const grace = new Option("--grace <duration>", "how long old secrets keep working, such as 0s or 7d");
  keys
    .command("rotate")
    .summary("give a key a new secret")
    .description(
      "Gives a key a new secret and prints it. Its id, limits and counters stay. Old secrets keep working for a while.",
    )
    .argument("<id>", "the key's id, key_…")
    .addOption(grace.argParser(parseGrace).default(parseGrace("24h"), "24h"))
    .option("--json", "print an object with id, key and plan")
    .addHelpText("after", "\nExample:\n  $ petstore keys rotate key_4kD0aT7uLw2QxYzB --grace 7d")
    .action(async (id: string, _options, command: Command) => {
      await rotateKey(id, command.optsWithGlobals<RotateOptions>());
    });
}

interface RotateOptions {
  readonly db: string;
  /** In milliseconds. */
  readonly grace: number;
  readonly json?: true;
}

async function rotateKey(id: string, options: RotateOptions): Promise<void> {
  const secret = mintSecret(randomBytes);
  const { outcome, key, graceEndsAtMs } = await withExistingStore(options.db, async (store) => {
    const nowMs = await store.now();
    assertNotExpired(await requireKey(store, id), nowMs);
    const graceEndsAtMs = nowMs + options.grace;
    return { ...requireKnown(await store.rotateKey(id, hashSecret(secret), graceEndsAtMs), id), graceEndsAtMs };
  });
  if (outcome === "revoked") {
    throw revokedFailure(key, "create a new key");
  }
  if (outcome !== "done") {
    throw takenFailure();
  }
  printKeySecret(key, secret, options);
  if (!options.json) {
    const until = formatTime(Math.min(graceEndsAtMs, key.expiresAtMs ?? Number.POSITIVE_INFINITY));
    process.stdout.write(options.grace === 0 ? "Old secrets no longer work.\n" : `Old secrets work until ${until}.\n`);
  }
}

function assertNotExpired({ id, revokedAtMs, expiresAtMs = Number.POSITIVE_INFINITY }: Key, nowMs: number): void {
  if (revokedAtMs === undefined && expiresAtMs <= nowMs) {
    throw new Failure(`${id} has expired: extend it first, with 'petstore keys update ${id} --expires-in 30d'`);
  }
}

/** `petstore keys revoke ID`. */
function addKeysRevoke(keys: Command): void {
  keys
    .command("revoke")
    .summary("revoke a key for good")
    .description("Revokes a key for good. Running servers refuse it within a second.")
    .argument("<id>", "the key's id, key_…")
    .action(async (id: string, _options, command: Command) => {
      const { db } = command.optsWithGlobals<{ db: string }>();
      const { outcome, key } = requireKnown(
        await withExistingStore(db, async (store) => store.revokeKey(id, await store.now())),
        id,
      );
      const text =
        outcome === "done" ? `revoked ${id}` : `${id} was already revoked, on ${formatTime(key.revokedAtMs ?? 0)}`;
      process.stdout.write(`${printable(text)}\n`);
    });
}

/** `petstore keys unban ID`. */
function addKeysUnban(keys: Command): void {
  keys
    .command("unban")
    .summary("lift the ban of a key")
    .description(
      "Lifts the ban of a key that kept sending requests over its limits, and clears its count of refusals. " +
        "The counts of its minute and its day stay.",
    )
    .argument("<id>", "the key's id, key_…")
    .action(async (id: string, _options, command: Command) => {
      const { db } = command.optsWithGlobals<{ db: string }>();
      const hadSavedBan = await withExistingStore(db, (store) => unban(store, id));
      process.stdout.write(`${printable(hadSavedBan ? `unbanned ${id}` : describeUnsaved(id))}\n`);
    });
}

/** Does not say that there was no ban: only the server knows of one that it has not saved yet. */
function describeUnsaved(id: string): string {
  return `${id} had no saved ban; its count of refusals is cleared, and a ban that is not saved yet is lifted`;
}

/** Lifts the ban of a key, even one that the server has not saved yet. Returns whether the store had a ban. */
async function unban(store: Store, id: string): Promise<boolean> {
  const former = await requireKey(store, id);
  const usage = (await store.loadUsage(id)) ?? noUsage;
  const { outcome, key } = requireKnown(await store.unbanKey(id), id);
  if (outcome === "revoked") {
    throw revokedFailure(key, "there is no ban to lift");
  }
  const nowMs = await store.now();
  return describeLimits(usage, allowanceOf(former), nowMs).ban !== undefined;
}

/** The key with an id. Throws a `Failure` when there is none. */
async function requireKey(store: Store, id: string): Promise<Key> {
  const key = await store.getKey(id);
  if (key === undefined) {
    throw unknownKey(id);
  }
  return key;
}

/** The outcome of a change. Throws a `Failure` when the key does not exist. */
function requireKnown(outcome: KeyOutcome, id: string): Exclude<KeyOutcome, { outcome: "unknown" }> {
  if (outcome.outcome === "unknown") {
    throw unknownKey(id);
  }
  return outcome;
}

/** The failure of a change to a revoked key. `advice` says what to do instead. */
function revokedFailure({ id, revokedAtMs = 0 }: Key, advice: string): Failure {
  return new Failure(`${id} was revoked on ${formatTime(revokedAtMs)}, for good: ${advice}`);
}

/** The failure of a creation that an earlier attempt has already completed, although it seemed to fail. */
function takenFailure(): Failure {
  return new Failure("the store already has this key, so nothing was changed: try again");
}

function unknownKey(id: string): Failure {
  const advice = "'petstore keys list --all' lists all keys";
  // Logs keep what is written to stderr, and no log may contain a secret.
  return new Failure(
    mayHoldSecret(id)
      ? `a key is named by its id, not by its secret; ${advice}`
      : `there is no key ${printableJsonLine(id)}; ${advice}`,
  );
}
