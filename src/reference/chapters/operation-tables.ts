import { isFree } from "../../interceptors/operation.ts";
import type { OperationEntry } from "../openapi/operations.ts";
import { operationBadge } from "../page/badge.ts";

/** Each operation with its stability, as a Markdown table. */
export function stabilityTable(entries: readonly OperationEntry[]): string {
  return table(["Operation", "Stability"], entries, (entry) => [operationLink(entry), operationBadge(entry.operation)]);
}

/** Each operation with the scope that a key needs, as a Markdown table. */
export function scopeTable(entries: readonly OperationEntry[]): string {
  return table(["Operation", "Scope"], entries, (entry) => [operationLink(entry), scopeOf(entry)]);
}

function scopeOf({ operation: { "x-scope": scope } }: OperationEntry): string {
  return scope === undefined ? "none" : `\`${scope}\``;
}

/** Each operation with the path of its RPC, as a Markdown table. */
export function rpcTable(entries: readonly OperationEntry[]): string {
  return table(["REST", "RPC"], entries, (entry) => [
    operationLink(entry),
    `<code>${entry.operation["x-rpc"].replace(/[./]/g, "$&<wbr>")}</code>`,
  ]);
}

/** The operations whose calls are not counted, as Markdown links. */
export function freeOperations(entries: readonly OperationEntry[]): string {
  return entries
    .filter(({ rpc }) => isFree(rpc))
    .map(operationLink)
    .join(", ");
}

function operationLink(entry: OperationEntry): string {
  return `[\`${entry.method} ${entry.path}\`](#${entry.id})`;
}

function table(
  head: readonly string[],
  entries: readonly OperationEntry[],
  cells: (entry: OperationEntry) => readonly string[],
): string {
  const rows = [head, head.map(() => "---"), ...entries.map(cells)];
  return rows.map((row) => `| ${row.join(" | ")} |`).join("\n");
}
