import { isFree } from "../../interceptors/operation.ts";
import { inline, operationBadge, statusBadge } from "../html/inline-html.ts";
import type { OperationEntry } from "../openapi/operations.ts";
import type { OpenApiDocument, OpenApiErrorReason } from "../openapi/view.ts";

/** The operations and their stability, as a Markdown table. */
export function stabilityTable(entries: readonly OperationEntry[]): string {
  return table(["Operation", "Stability"], entries, (entry) => [operationLink(entry), operationBadge(entry.operation)]);
}

/** The operations and the scopes that they need, as a Markdown table. */
export function scopeTable(entries: readonly OperationEntry[]): string {
  return table(["Operation", "Scope"], entries, (entry) => [operationLink(entry), scopeOf(entry)]);
}

function scopeOf({ operation: { "x-scope": scope } }: OperationEntry): string {
  return scope === undefined ? "none" : `\`${scope}\``;
}

/** The operations and the paths of their RPCs, as a Markdown table. */
export function rpcTable(entries: readonly OperationEntry[]): string {
  return table(["REST", "RPC"], entries, (entry) => [
    operationLink(entry),
    `<code>${entry.operation["x-rpc"].replace(/[./]/g, "$&<wbr>")}</code>`,
  ]);
}

/** The operations that do not count against limits, as Markdown links. */
export function freeOperations(entries: readonly OperationEntry[]): string {
  return entries
    .filter(({ rpc }) => isFree(rpc))
    .map(operationLink)
    .join(", ");
}

/** All error codes with their meaning and remedy, as HTML. Each has its name as an anchor. */
export function errorList(document: OpenApiDocument): string {
  return `<div class="errors">${document["x-error-reasons"].map(writeReason).join("\n")}</div>`;
}

function writeReason({ code, status, canonical, meaning, remedy }: OpenApiErrorReason): string {
  return (
    `<div class="error" id="${code}"><h4><a class="anchor" href="#${code}">${code}</a></h4>` +
    `<p class="statuses">${statusBadge(status)} <span class="canonical">${canonical}</span></p>` +
    `<p>${inline(meaning)}</p><p>${inline(remedy)}</p></div>`
  );
}

/** A link to an operation by its method and path, as Markdown. */
export function operationLink(entry: OperationEntry): string {
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
