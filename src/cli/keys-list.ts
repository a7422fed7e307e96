import type { Command } from "commander";
import { type Key, scopes } from "../domain/key.ts";
import { withExistingStore } from "./store-file.ts";
import { formatTable, truncate } from "./table.ts";

/** `petstore keys list`. */
export function addKeysList(keys: Command): void {
  keys
    .command("list")
    .summary("list all keys, without their secrets")
    .description("Lists all keys in the order of their creation, the revoked ones included. Secrets are not kept.")
    .option("--json", "print an array of objects")
    .action(async (_options, command: Command) => {
      const { db, json } = command.optsWithGlobals<{ db: string; json?: true }>();
      const listed = await withExistingStore(db, (store) => store.listKeys());
      process.stdout.write(json ? `${JSON.stringify(listed.map(keyToJson), null, 2)}\n` : formatKeys(listed));
    });
}

function keyToJson(key: Key): object {
  return {
    id: key.id,
    name: key.name,
    plan: key.plan,
    scopes: key.scopes,
    createdAt: formatTime(key.createdAtMs),
    expiresAt: formatTime(key.expiresAtMs),
    lastUsedAt: formatTime(key.lastUsedAtMs),
    revokedAt: formatTime(key.revokedAtMs),
  };
}

function formatTime(timeMs: number | undefined): string | null {
  return timeMs === undefined ? null : new Date(timeMs).toISOString();
}

const header = ["ID", "NAME", "PLAN", "SCOPES", "CREATED", "EXPIRES", "LAST USED", "REVOKED"];
const nameColumn = header.indexOf("NAME");

function formatKeys(keys: readonly Key[]): string {
  const rows = [header, ...keys.map(keyToRow)];
  const nameWidth = nameWidthFor(rows);
  return formatTable(rows.map((row) => row.with(nameColumn, truncate(row[nameColumn] ?? "", nameWidth))));
}

function keyToRow(key: Key): string[] {
  const times = [key.createdAtMs, key.expiresAtMs, key.lastUsedAtMs, key.revokedAtMs];
  const scope = key.scopes.length === scopes.length ? "all" : key.scopes.join(",");
  return [key.id, printable(key.name), key.plan, scope, ...times.map(formatMinute)];
}

function formatMinute(timeMs: number | undefined): string {
  return timeMs === undefined ? "-" : `${new Date(timeMs).toISOString().slice(0, 16).replace("T", " ")}Z`;
}

const minNameWidth = 8;

/** What the other columns leave of the terminal's width; any width when there is no terminal. */
function nameWidthFor(rows: readonly string[][]): number {
  if (!process.stdout.isTTY) {
    return Number.POSITIVE_INFINITY;
  }
  const others = formatTable(rows.map((row) => row.with(nameColumn, ""))).split("\n");
  return Math.max(minNameWidth, process.stdout.columns - Math.max(...others.map((line) => line.length)));
}

/** A name without what would move the cursor, or turn the line around. */
function printable(name: string): string {
  return name.replaceAll(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, "\ufffd");
}
