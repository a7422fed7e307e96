import type { WindowState } from "../../domain/rate-limit-decision.ts";
import { formatDuration } from "../parse/duration.ts";
import { describeEnd, describePlan, describeScopes } from "./key-settings-text.ts";
import { describeState, type KeyStanding } from "./key-standing.ts";
import { formatLabelledLines, type LabelledLine } from "./labelled-lines.ts";
import { formatAgo, formatMinute } from "./time-text.ts";

/** Writes all of one key for people, a line for each thing that they may want to know. */
export function formatKey(standing: KeyStanding, nowMs: number): string {
  const { key, limits, deprecatedCalls } = standing;
  const { lastUsedAtMs } = key;
  return formatLabelledLines([
    ["id", key.id],
    ["name", key.name || "-"],
    ["state", describeState(standing, nowMs)],
    ["plan", describePlan(key)],
    ["scopes", describeScopes(key)],
    ["created", formatMinute(key.createdAtMs)],
    ["expires", describeEnd(key)],
    ["last used", lastUsedAtMs === undefined ? "never" : describeMoment(lastUsedAtMs, nowMs)],
    ["minute", describeWindow(limits.minute)],
    ["day", describeWindow(limits.day)],
    ["refusals", `${describeWindow(limits.strikes)}; at ${write(limits.strikes.limit)} the key is banned`],
    ["ban", describeBan(standing, nowMs)],
    ...[...deprecatedCalls].map(
      ([operation, timeMs]): LabelledLine => ["deprecated", `${operation}, called ${describeMoment(timeMs, nowMs)}`],
    ),
  ]);
}

/** Such as `12 of 60 used, all again in 41s`. */
function describeWindow({ limit, remaining, resetAfterSeconds }: WindowState): string {
  const used = `${write(limit - remaining)} of ${write(limit)}`;
  return remaining === limit ? used : `${used}, anew in ${formatDuration(resetAfterSeconds * 1_000)}`;
}

function describeBan({ limits: { ban } }: KeyStanding, nowMs: number): string {
  return ban === undefined
    ? "none"
    : `until ${formatMinute(ban.endsAtMs)}, in ${formatDuration(ban.endsAtMs - nowMs)}; step ${ban.step}`;
}

function describeMoment(timeMs: number, nowMs: number): string {
  return `${formatMinute(timeMs)}, ${formatAgo(timeMs, nowMs)}`;
}

function write(count: number): string {
  return count.toLocaleString("en");
}
