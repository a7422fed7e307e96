import { type Key, type KeySettings, scopes } from "../../domain/key.ts";
import { allowanceOf, describeLimits, type Limits, noUsage, quotaOf, type WindowState } from "../../domain/limits.ts";
import type { KeyUsage, Store } from "../../domain/store.ts";
import { formatAgo, formatCount, formatRemaining, formatRoughRemaining, formatTime, timeToJson } from "./format.ts";
import { printNewSecret } from "./secret.ts";
import { columnWidths, formatLabelledLines, formatTable, type LabelledLine, printable, truncate } from "./terminal.ts";

/** A key, what it has used of its limits, and the deprecated operations that it calls. */
export interface KeyStatus {
  readonly key: Key;
  readonly limits: Limits;
  /** Milliseconds since the Unix epoch, by the full name of the operation. */
  readonly deprecatedCalls: ReadonlyMap<string, number>;
}

/** The status of a key at `nowMs`. `saved` is its usage in the store. */
export function keyStatus(key: Key, saved: KeyUsage | undefined, nowMs: number): KeyStatus {
  return {
    key,
    limits: describeLimits(saved?.usage ?? noUsage, allowanceOf(key), nowMs),
    deprecatedCalls: saved?.deprecatedCalls ?? new Map(),
  };
}

/** Loads the status of a key. */
export async function loadKeyStatus(store: Store, key: Key, nowMs: number): Promise<KeyStatus> {
  return keyStatus(key, await store.getUsage(key.id), nowMs);
}

/** Describes why a key does not work, or how long it will, in a few words. */
function describeState({ key, limits }: KeyStatus, nowMs: number): string {
  if (key.revokedAtMs !== undefined) {
    return `revoked ${formatAgo(key.revokedAtMs, nowMs)}`;
  }
  if (key.expiresAtMs !== undefined && nowMs >= key.expiresAtMs) {
    return `expired ${formatAgo(key.expiresAtMs, nowMs)}`;
  }
  if (limits.ban !== undefined) {
    return `banned for ${formatRoughRemaining(limits.ban.endsAtMs - nowMs)}`;
  }
  return key.expiresAtMs === undefined ? "live" : `ends in ${formatRoughRemaining(key.expiresAtMs - nowMs)}`;
}

/** A key as `keys list --json` prints it: the fields of docs/contract.md#command-line, and its usage. */
export function keyToJson({ key, limits, deprecatedCalls }: KeyStatus): object {
  return {
    id: key.id,
    name: key.name,
    plan: key.plan,
    scopes: key.scopes,
    createdAt: timeToJson(key.createdAtMs),
    expiresAt: timeToJson(key.expiresAtMs),
    lastUsedAt: timeToJson(key.lastUsedAtMs),
    revokedAt: timeToJson(key.revokedAtMs),
    minute: windowToJson(limits.minute),
    day: windowToJson(limits.day),
    strikes: windowToJson(limits.strikes),
    ban: limits.ban === undefined ? null : { endsAt: timeToJson(limits.ban.endsAtMs), step: limits.ban.step },
    deprecatedCalls: [...deprecatedCalls].map(([operation, lastCalledAtMs]) => ({
      operation,
      lastCalledAt: timeToJson(lastCalledAtMs),
    })),
  };
}

/** A window without requests has no reset time. */
function windowToJson({ limit, remaining, resetAtMs }: WindowState): object {
  return { limit, used: limit - remaining, remaining, resetAt: remaining === limit ? null : timeToJson(resetAtMs) };
}

/** Prints a key's new secret. */
export function printKeySecret({ id, plan }: Key, secret: string, options: { readonly json?: true }): void {
  printNewSecret(
    {
      secret,
      purpose: `This is the ${plan} key ${id}`,
      replacement: `petstore keys rotate ${id}`,
      json: { id, key: secret, plan },
    },
    options,
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
    ["created", formatTime(key.createdAtMs)],
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
  return expiresAtMs === undefined ? "never" : formatTime(expiresAtMs);
}

/** Such as `12 of 60, resets in 41s`. */
function describeWindow({ limit, remaining, resetAfterSeconds }: WindowState): string {
  const used = `${formatCount(limit - remaining)} of ${formatCount(limit)}`;
  return remaining === limit ? used : `${used}, resets in ${formatRemaining(resetAfterSeconds * 1_000)}`;
}

function describeBan({ limits: { ban } }: KeyStatus, nowMs: number): string {
  return ban === undefined ? "none" : `until ${describeEndOf(ban.endsAtMs, nowMs)}; step ${ban.step}`;
}

/** Such as `2026-06-01 12:00:00Z, in 3h 12m`. */
function describeEndOf(endMs: number, nowMs: number): string {
  return `${formatTime(endMs)}, in ${formatRemaining(endMs - nowMs)}`;
}

function describeMoment(timeMs: number, nowMs: number): string {
  return `${formatTime(timeMs)}, ${formatAgo(timeMs, nowMs)}`;
}

/** How to write a table of keys. */
interface KeyTableOptions {
  readonly nowMs: number;
  /** The number of columns of the terminal; undefined when the output is not a terminal. */
  readonly width: number | undefined;
  /** Whether to show all columns in full, whatever the width. */
  readonly wide?: true | undefined;
}

/** A column of the table. */
interface Column {
  readonly title: string;
  readonly toCell: (status: KeyStatus, nowMs: number) => string;
}

const name: Column = { title: "NAME", toCell: ({ key }) => key.name };
const lastUsed: Column = {
  title: "LAST USED",
  toCell: ({ key: { lastUsedAtMs } }, nowMs) => (lastUsedAtMs === undefined ? "-" : formatAgo(lastUsedAtMs, nowMs)),
};
const minute: Column = { title: "MINUTE", toCell: ({ limits }) => formatUse(limits.minute) };
const expires: Column = { title: "EXPIRES", toCell: ({ key }) => formatTimeIfAny(key.expiresAtMs) };
const created: Column = { title: "CREATED", toCell: ({ key }) => formatTimeIfAny(key.createdAtMs) };
const scope: Column = {
  title: "SCOPES",
  toCell: ({ key }) => (key.scopes.length === scopes.length ? "all" : key.scopes.join(",")),
};

/** In the order of the table. */
const columns: readonly Column[] = [
  { title: "ID", toCell: ({ key }) => key.id },
  name,
  { title: "PLAN", toCell: ({ key }) => key.plan },
  scope,
  created,
  expires,
  minute,
  { title: "DAY", toCell: ({ limits }) => formatUse(limits.day) },
  lastUsed,
  { title: "STATE", toCell: describeState },
];

/** The columns to leave out where they do not fit. The last one goes first. */
const extras: readonly Column[] = [minute, expires, scope, created];

/** Writes keys for people: a table of all keys, and one of the keys that call deprecated operations, if any do. */
export function formatKeys(statuses: readonly KeyStatus[], options: KeyTableOptions): string {
  const width = options.wide ? undefined : options.width;
  const keys = formatWithNames(rowsThatFit(statuses, options), width);
  const calls = statuses.flatMap((status) => deprecatedCallsToRows(status, options.nowMs));
  if (calls.length === 0) {
    return keys;
  }
  const header = ["ID", "NAME", "OPERATION", "LAST CALLED"];
  return `${keys}\nDeprecated operations that are still called:\n\n${formatWithNames([header, ...calls], width)}`;
}

function rowsThatFit(statuses: readonly KeyStatus[], { nowMs, width, wide }: KeyTableOptions): string[][] {
  const rowsWithout = (omitted: readonly Column[]) => {
    const shown = columns.filter((column) => !omitted.includes(column));
    return [
      shown.map(({ title }) => title),
      ...statuses.map((status) => shown.map(({ toCell }) => toCell(status, nowMs))),
    ];
  };
  if (wide) {
    return rowsWithout([]);
  }
  return width === undefined ? rowsWithout(extras) : rowsWithout(columnsToLeaveOut(rowsWithout, width));
}

/** Cuts the names before it leaves out a column that is not among the extras. */
function columnsToLeaveOut(rowsWithout: (omitted: readonly Column[]) => string[][], width: number): readonly Column[] {
  for (let count = extras.length; count > 0; count -= 1) {
    const omitted = extras.slice(count);
    if (widthOfRows(rowsWithout(omitted)) <= width) {
      return omitted;
    }
  }
  const isTooWide = widthOfRows(rowsWithout(extras).map(shortenName)) > width;
  return isTooWide ? [...extras, lastUsed] : extras;
}

function shortenName(row: readonly string[]): string[] {
  return row.with(nameColumn, truncate(row[nameColumn] ?? "", minNameWidth));
}

function deprecatedCallsToRows({ key, deprecatedCalls }: KeyStatus, nowMs: number): string[][] {
  return [...deprecatedCalls].map(([operation, timeMs]) => [key.id, key.name, operation, formatAgo(timeMs, nowMs)]);
}

/** Such as `12/60` or `340/10k`. */
function formatUse({ limit, remaining }: WindowState): string {
  return `${limit - remaining}/${formatLimit(limit)}`;
}

function formatLimit(limit: number): string {
  if (limit % 1_000_000 === 0) {
    return `${limit / 1_000_000}M`;
  }
  return limit % 1_000 === 0 ? `${limit / 1_000}k` : String(limit);
}

function formatTimeIfAny(timeMs: number | undefined): string {
  return timeMs === undefined ? "-" : formatTime(timeMs);
}

const nameColumn = columns.indexOf(name);
const minNameWidth = 8;

/** Writes rows with names that are cut to fit a width; in full when it is undefined. */
function formatWithNames(rows: readonly string[][], width: number | undefined): string {
  const others = widthOfRows(rows.map((row) => row.with(nameColumn, "")));
  const nameWidth = width === undefined ? Number.POSITIVE_INFINITY : Math.max(minNameWidth, width - others);
  return formatTable(rows.map((row) => row.with(nameColumn, truncate(printable(row[nameColumn] ?? ""), nameWidth))));
}

function widthOfRows(rows: readonly string[][]): number {
  const widths = columnWidths(rows.map((row) => row.map(printable)));
  return widths.reduce((sum, width) => sum + width + 2, -2);
}
