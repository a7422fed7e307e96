import type { WindowStanding } from "../domain/judgement.ts";
import { type Key, scopes } from "../domain/key.ts";
import { formatDuration } from "./duration.ts";
import type { KeyStanding } from "./key-standing.ts";
import { printable } from "./printable.ts";
import { formatTable, truncate } from "./table.ts";

/** How a table of keys is written. */
export interface KeyTableOptions {
  readonly nowMs: number;
  /** Whether scopes and times are shown too, which takes more than 120 columns. */
  readonly wide?: true | undefined;
}

/** Writes keys for people: a table of them all, and one of those that call deprecated operations, if any do. */
export function formatKeys(standings: readonly KeyStanding[], options: KeyTableOptions): string {
  const wideHeader = options.wide ? ["SCOPES", "CREATED", "EXPIRES"] : [];
  const header = ["ID", "NAME", "PLAN", ...wideHeader, "MINUTE", "DAY", "LAST USED", "STATE"];
  const keys = formatWithNames([header, ...standings.map((standing) => keyToRow(standing, options))]);
  const calls = standings.flatMap(deprecatedCallsToRows);
  if (calls.length === 0) {
    return keys;
  }
  return `${keys}\nDeprecated operations that are still called:\n\n${formatWithNames([["ID", "NAME", "OPERATION", "LAST CALLED"], ...calls])}`;
}

function keyToRow({ key, limits }: KeyStanding, { nowMs, wide }: KeyTableOptions): string[] {
  const scope = key.scopes.length === scopes.length ? "all" : key.scopes.join(",");
  return [
    key.id,
    key.name,
    key.plan,
    ...(wide ? [scope, formatMinute(key.createdAtMs), formatMinute(key.expiresAtMs)] : []),
    formatWindow(limits.minute),
    formatWindow(limits.day),
    formatMinute(key.lastUsedAtMs),
    stateOf(key, limits.ban, nowMs),
  ];
}

function deprecatedCallsToRows({ key, deprecatedCalls }: KeyStanding): string[][] {
  return [...deprecatedCalls].map(([operation, timeMs]) => [key.id, key.name, operation, formatMinute(timeMs)]);
}

/** Such as `12/60 41s`: twelve of sixty, of which a new sixty begins in 41 s. */
function formatWindow({ limit, remaining, resetAfterSeconds }: WindowStanding): string {
  const counts = `${limit - remaining}/${limit}`;
  return remaining === limit ? counts : `${counts} ${formatDuration(resetAfterSeconds * 1_000).replace(" ", "")}`;
}

/** What stands in a key's way, or the last day that it lives; the first that holds. */
function stateOf(key: Key, ban: KeyStanding["limits"]["ban"], nowMs: number): string {
  if (key.revokedAtMs !== undefined) {
    return `revoked ${formatDay(key.revokedAtMs)}`;
  }
  if (key.expiresAtMs !== undefined && nowMs >= key.expiresAtMs) {
    return `expired ${formatDay(key.expiresAtMs)}`;
  }
  if (ban !== undefined) {
    return `banned ${formatDuration(ban.endsAtMs - nowMs)}, step ${ban.step}`;
  }
  return key.expiresAtMs === undefined ? "live" : `until ${formatDay(key.expiresAtMs)}`;
}

function formatMinute(timeMs: number | undefined): string {
  return timeMs === undefined ? "-" : `${new Date(timeMs).toISOString().slice(0, 16).replace("T", " ")}Z`;
}

function formatDay(timeMs: number): string {
  return new Date(timeMs).toISOString().slice(0, 10);
}

const nameColumn = 1;
const minNameWidth = 8;

/** Writes rows whose names are cut to what the other columns leave of a terminal's width; whole where there is none. */
function formatWithNames(rows: readonly string[][]): string {
  const nameWidth = nameWidthFor(rows);
  return formatTable(rows.map((row) => row.with(nameColumn, truncate(printable(row[nameColumn] ?? ""), nameWidth))));
}

function nameWidthFor(rows: readonly string[][]): number {
  if (!process.stdout.isTTY) {
    return Number.POSITIVE_INFINITY;
  }
  const others = formatTable(rows.map((row) => row.with(nameColumn, ""))).split("\n");
  return Math.max(minNameWidth, process.stdout.columns - Math.max(...others.map((line) => line.length)));
}
