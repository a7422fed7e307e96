import { scopes } from "../../domain/key.ts";
import type { WindowState } from "../../domain/rate-limit-decision.ts";
import { describeState, type KeyStanding } from "./key-standing.ts";
import { printable } from "./printable.ts";
import { formatTable, truncate, widthOf } from "./table.ts";
import { formatAgo, formatMinute } from "./time-text.ts";

/** How a table of keys is written. */
export interface KeyTableOptions {
  readonly nowMs: number;
  /** The columns of the terminal; undefined where the table goes elsewhere. */
  readonly width: number | undefined;
  /** Whether all columns are shown, however wide they are. */
  readonly wide?: true | undefined;
}

/** One thing that a table tells of each key. */
interface Column {
  readonly title: string;
  readonly toCell: (standing: KeyStanding, nowMs: number) => string;
}

const name: Column = { title: "NAME", toCell: ({ key }) => key.name };
const lastUsed: Column = {
  title: "LAST USED",
  toCell: ({ key: { lastUsedAtMs } }, nowMs) => (lastUsedAtMs === undefined ? "-" : formatAgo(lastUsedAtMs, nowMs)),
};
const minute: Column = { title: "MINUTE", toCell: ({ limits }) => formatUse(limits.minute) };
const expires: Column = { title: "EXPIRES", toCell: ({ key }) => formatTime(key.expiresAtMs) };
const created: Column = { title: "CREATED", toCell: ({ key }) => formatTime(key.createdAtMs) };
const scope: Column = {
  title: "SCOPES",
  toCell: ({ key }) => (key.scopes.length === scopes.length ? "all" : key.scopes.join(",")),
};

/** In the order in which they are shown. */
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

/** What is left out where there is no room for it, the first of them at last. */
const extras: readonly Column[] = [minute, expires, scope, created];

/** Writes keys for people: a table of them all, and one of those that call deprecated operations, if any do. */
export function formatKeys(standings: readonly KeyStanding[], options: KeyTableOptions): string {
  const keys = formatWithNames(rowsThatFit(standings, options), options.width);
  const calls = standings.flatMap((standing) => deprecatedCallsToRows(standing, options.nowMs));
  if (calls.length === 0) {
    return keys;
  }
  const header = ["ID", "NAME", "OPERATION", "LAST CALLED"];
  return `${keys}\nDeprecated operations that are still called:\n\n${formatWithNames([header, ...calls], options.width)}`;
}

function rowsThatFit(standings: readonly KeyStanding[], { nowMs, width, wide }: KeyTableOptions): string[][] {
  const rowsWithout = (left: readonly Column[]) => {
    const shown = columns.filter((column) => !left.includes(column));
    return [
      shown.map(({ title }) => title),
      ...standings.map((standing) => shown.map(({ toCell }) => toCell(standing, nowMs))),
    ];
  };
  if (wide) {
    return rowsWithout([]);
  }
  return width === undefined ? rowsWithout(extras) : rowsWithout(columnsToLeaveOut(rowsWithout, width));
}

/** Names are cut before a column is left out that is no extra. */
function columnsToLeaveOut(rowsWithout: (left: readonly Column[]) => string[][], width: number): readonly Column[] {
  for (let count = extras.length; count > 0; count -= 1) {
    const left = extras.slice(count);
    if (widthOfRows(rowsWithout(left)) <= width) {
      return left;
    }
  }
  const isTooWide = widthOfRows(rowsWithout(extras).map(shortenName)) > width;
  return isTooWide ? [...extras, lastUsed] : extras;
}

function shortenName(row: readonly string[]): string[] {
  return row.with(nameColumn, truncate(row[nameColumn] ?? "", minNameWidth));
}

function deprecatedCallsToRows({ key, deprecatedCalls }: KeyStanding, nowMs: number): string[][] {
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

function formatTime(timeMs: number | undefined): string {
  return timeMs === undefined ? "-" : formatMinute(timeMs);
}

const nameColumn = columns.indexOf(name);
const minNameWidth = 8;

/** Writes rows whose names are cut to what the other columns leave of a width; whole where there is none. */
function formatWithNames(rows: readonly string[][], width: number | undefined): string {
  const others = widthOfRows(rows.map((row) => row.with(nameColumn, "")));
  const nameWidth = width === undefined ? Number.POSITIVE_INFINITY : Math.max(minNameWidth, width - others);
  return formatTable(rows.map((row) => row.with(nameColumn, truncate(printable(row[nameColumn] ?? ""), nameWidth))));
}

function widthOfRows(rows: readonly string[][]): number {
  return Math.max(...formatTable(rows).split("\n").map(widthOf));
}
