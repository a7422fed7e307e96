import { type Key, type KeySettings, quotaOf, scopes } from "../../domain/key.ts";
import type { WindowState } from "../../domain/rate-limit-decision.ts";
import { describeState, type KeyStatus } from "./key-status.ts";
import { formatCount } from "./number.ts";
import { printable, printableJsonLine } from "./printable.ts";
import { formatLabelledLines, type LabelledLine } from "./table.ts";
import { formatAgo, formatMinute, formatRemaining } from "./time.ts";

/** Prints a key's new secret: as JSON for programs, or with a warning for people. */
export function printSecret(key: Key, secret: string, { json }: { readonly json?: true }): void {
  process.stdout.write(
    json
      ? `${printableJsonLine({ id: key.id, key: secret, plan: key.plan })}\n`
      : `${secret}\n\nThis is the ${key.plan} key ${printable(key.id)}. Keep it now: it is shown only once.\n`,
  );
}

/** Describes the change of a key, such as `updated key_…: plan pro (was free)`. */
export function describeChange(former: Key, key: Key): string {
  const before = new Map(describeSettings(former));
  const changes = describeSettings(key).filter(([what, text]) => text !== before.get(what));
  const parts = changes.map(([what, text]) => `${what} ${text} (was ${before.get(what)})`);
  return parts.length === 0 ? `${key.id} already has these settings` : `updated ${key.id}: ${parts.join(", ")}`;
}

/** Writes all of one key for people, one fact per line. */
export function formatKey(status: KeyStatus, oldSecretEnds: readonly number[], nowMs: number): string {
  const { key, limits, deprecatedCalls } = status;
  const { lastUsedAtMs } = key;
  return formatLabelledLines([
    ["id", key.id],
    ["name", key.name || "-"],
    ["state", describeState(status, nowMs)],
    ["plan", describePlan(key)],
    ["scopes", describeScopes(key)],
    ["created", formatMinute(key.createdAtMs)],
    ["expires", describeEnd(key)],
    ...oldSecretEnds.map((endMs): LabelledLine => ["old secret", `works until ${describeEndOf(endMs, nowMs)}`]),
    ["last used", lastUsedAtMs === undefined ? "never" : describeMoment(lastUsedAtMs, nowMs)],
    ["minute", describeWindow(limits.minute)],
    ["day", describeWindow(limits.day)],
    ["refusals", `${describeWindow(limits.strikes)}; at ${formatCount(limits.strikes.limit)} the key is banned`],
    ["ban", describeBan(status, nowMs)],
    ...[...deprecatedCalls].map(
      ([operation, timeMs]): LabelledLine => ["deprecated", `${operation}, called ${describeMoment(timeMs, nowMs)}`],
    ),
  ]);
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
function describePlan(key: Pick<Key, "id" | "plan" | "customQuota">): string {
  const { perMinute, perDay } = quotaOf(key);
  return `${key.plan}, ${formatCount(perMinute)} a minute and ${formatCount(perDay)} a day`;
}

function describeScopes(key: Pick<KeySettings, "scopes">): string {
  return key.scopes.length === scopes.length ? "all" : key.scopes.join(", ");
}

function describeEnd({ expiresAtMs }: Pick<KeySettings, "expiresAtMs">): string {
  return expiresAtMs === undefined ? "never" : formatMinute(expiresAtMs);
}

/** Such as `12 of 60, resets in 41s`. */
function describeWindow({ limit, remaining, resetAfterSeconds }: WindowState): string {
  const used = `${formatCount(limit - remaining)} of ${formatCount(limit)}`;
  return remaining === limit ? used : `${used}, resets in ${formatRemaining(resetAfterSeconds * 1_000)}`;
}

function describeBan({ limits: { ban } }: KeyStatus, nowMs: number): string {
  return ban === undefined ? "none" : `until ${describeEndOf(ban.endsAtMs, nowMs)}; step ${ban.step}`;
}

/** Such as `2026-06-01 12:00Z, in 3h 12m`. */
function describeEndOf(endMs: number, nowMs: number): string {
  return `${formatMinute(endMs)}, in ${formatRemaining(endMs - nowMs)}`;
}

function describeMoment(timeMs: number, nowMs: number): string {
  return `${formatMinute(timeMs)}, ${formatAgo(timeMs, nowMs)}`;
}
