import { scopes } from "../../domain/key.ts";
import type { WindowState } from "../../domain/limits.ts";
import { describeState, type KeyStatus } from "./key.ts";
import { formatAgo, formatMinute } from "./number.ts";
import { formatTable, printable, truncate, widthOf } from "./terminal.ts";

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
const expires: Column = { title: "EXPIRES", toCell: ({ key }) => formatTime(key.expiresAtMs) };
const created: Column = { title: "CREATED", toCell: ({ key }) => formatTime(key.createdAtMs) };
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
  const rowsWithout = (left: readonly Column[]) => {
    const shown = columns.filter((column) => !left.includes(column));
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

/** Names are cut before any column but the extras is left out. */
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

function formatTime(timeMs: number | undefined): string {
  return timeMs === undefined ? "-" : formatMinute(timeMs);
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
  return Math.max(...formatTable(rows).split("\n").map(widthOf));
}
