import { type Command, Option } from "commander";
import { type Key, type KeySettings, type Scope, scopes } from "../../../domain/key.ts";
import { type Plan, plans } from "../../../domain/plan.ts";
import type { Store } from "../../../domain/store.ts";
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
      "Changes a key, and leaves what no flag names. Its secret, counters and bans stay. " +
        "Running servers take notice within a second.",
    )
    .argument("<id>", "the key's id, key_…")
    .option("--name <name>", "what to call it, in lists", parseKeyName)
    .addOption(new Option("--plan <plan>", "the plan, which sets the limits").choices(plans))
    .option("--per-minute <n>", "requests a minute, for an enterprise key", parseLimit)
    .option("--per-day <n>", "requests a day, for an enterprise key", parseLimit)
    .option("--scope <scope>", `all that it may do; may be repeated: ${scopes.join(", ")}`, parseScopes)
    .addOption(
      new Option("--expires-in <duration>", "when it ends, from now on, such as 12h or 30d").argParser(parseLifetime),
    )
    .addOption(new Option("--no-expiry", "let it end never").conflicts("expiresIn"))
    .option("--json", "print the key as 'keys show --json' does")
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
  /** False where the key is to have no end. */
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

/** Gives a key as it was, and as it is now. What another process changes at the same time is taken into account. */
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

/** Throws a `Failure` for limits that the plan does not take, or lacks. */
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
From enterprise to another plan, the two numbers are dropped; to enterprise,
both are needed. What the key has used already counts against its new limits.

Examples:
  $ petstore keys update key_4kD0aT7uLw2QxYzB --plan business
  $ petstore keys update key_4kD0aT7uLw2QxYzB --scope inventory:read --no-expiry`;
