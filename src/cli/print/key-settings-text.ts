import { type Key, type KeySettings, quotaOf, scopes } from "../../domain/key.ts";
import { formatMinute } from "./time-text.ts";

/** Says what has changed of a key, such as `updated key_…: plan pro (was free)`. */
export function describeChange(former: Key, key: Key): string {
  const before = new Map(describeSettings(former));
  const changes = describeSettings(key).filter(([what, text]) => text !== before.get(what));
  const parts = changes.map(([what, text]) => `${what} ${text} (was ${before.get(what)})`);
  return parts.length === 0 ? `${key.id} is so already` : `updated ${key.id}: ${parts.join(", ")}`;
}

function describeSettings(key: Key): [what: string, text: string][] {
  return [
    ["name", JSON.stringify(key.name)],
    ["plan", describePlan(key)],
    ["scopes", describeScopes(key)],
    ["expires", describeEnd(key)],
  ];
}

/** Such as `enterprise, 50 a minute and 1,000 a day`. */
export function describePlan(key: Pick<Key, "id" | "plan" | "customQuota">): string {
  const { perMinute, perDay } = quotaOf(key);
  return `${key.plan}, ${perMinute.toLocaleString("en")} a minute and ${perDay.toLocaleString("en")} a day`;
}

export function describeScopes(key: Pick<KeySettings, "scopes">): string {
  return key.scopes.length === scopes.length ? "all" : key.scopes.join(", ");
}

export function describeEnd({ expiresAtMs }: Pick<KeySettings, "expiresAtMs">): string {
  return expiresAtMs === undefined ? "never" : formatMinute(expiresAtMs);
}
