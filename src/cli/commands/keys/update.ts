import { type Command, Option } from "commander";
import { type Key, type KeySettings, type Plan, plans, type Scope, scopes } from "../../../domain/key.ts";
import type { Store } from "../../../domain/store/store.ts";
import { usageFailure } from "../../failure.ts";
import {
  customQuotaFor,
  parseKeyName,
  parseLifetime,
  parseLimit,
  parseScopes,
  type QuotaFlags,
} from "../../parse/key-flags.ts";
import { describeChange } from "../../print/key.ts";
import { keyToJson, loadKeyStatus } from "../../print/key-status.ts";
import { printable, printableJson } from "../../print/printable.ts";
import { withExistingStore } from "../../store-file.ts";
import { requireKey, requireKnown, revokedFailure } from "./key-lookup.ts";

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
    .addHelpText("after", help)
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

const help = `
A change from enterprise to another plan drops the two numbers. A change to
enterprise needs both. Past usage counts against the new limits.

Examples:
  $ petstore keys update key_4kD0aT7uLw2QxYzB --plan business
  $ petstore keys update key_4kD0aT7uLw2QxYzB --scope inventory:read --no-expiry`;
