import { petNotFound } from "../../domain/errors.ts";
import { deprecationHeaders } from "../../interceptors/deprecation.ts";
import { errorToRest, toConnectError } from "../../interceptors/errors.ts";
import { isFree, operationOf } from "../../interceptors/operation.ts";
import { codeBlock, inline, operationBadge, statusBadge } from "../html/elements.ts";
import type { OpenApiDocument, OpenApiErrorReason } from "../openapi/document.ts";
import type { OperationEntry } from "../openapi/operations.ts";
import { writeTable } from "./markdown-text.ts";

/** The operations and their stability, as a Markdown table. */
export function stabilityTable(entries: readonly OperationEntry[]): string {
  return writeTable(
    ["Operation", "Stability"],
    entries.map((entry) => [operationLink(entry), operationBadge(entry.operation)]),
  );
}

/** The operations and the scopes that they need, as a Markdown table. */
export function scopeTable(entries: readonly OperationEntry[]): string {
  return writeTable(
    ["Operation", "Scope"],
    entries.map((entry) => [operationLink(entry), scopeOf(entry)]),
  );
}

function scopeOf({ operation: { "x-scope": scope } }: OperationEntry): string {
  return scope === undefined ? "none" : `\`${scope}\``;
}

/** The operations and the paths of their RPCs, as a Markdown table. */
export function rpcTable(entries: readonly OperationEntry[]): string {
  return writeTable(
    ["REST", "RPC"],
    entries.map((entry) => [
      operationLink(entry),
      `<code>${entry.operation["x-rpc"].replace(/[./]/g, "$&<wbr>")}</code>`,
    ]),
  );
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

/** The body of an error answer, as the service writes it, indented. */
export function errorExample(): string {
  return JSON.stringify(errorToRest(toConnectError(petNotFound(7n))).body, undefined, 2);
}

/** The headers of the first deprecated operation, as HTML; or a sentence that there is none. */
export function deprecationExample(entries: readonly OperationEntry[]): string {
  for (const { rpc } of entries) {
    const deprecation = operationOf(rpc)?.deprecation;
    if (deprecation !== undefined) {
      const lines = Object.entries(deprecationHeaders(rpc, deprecation)).map(([name, value]) => `${name}: ${value}`);
      return codeBlock(lines.join("\n"), "http");
    }
  }
  return "<p>No operation is deprecated at present.</p>";
}
