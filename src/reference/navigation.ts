import { operationBadge } from "./badge.ts";
import type { Chapter } from "./chapter.ts";
import { escapeHtml } from "./html.ts";
import { anchorOf, type OperationEntry } from "./operation-entry.ts";

/** The links to all chapters and operations, as HTML. */
export function navigation(chapters: readonly Chapter[], operations: readonly OperationEntry[]): string {
  const guides = chapters.map(({ id, title }) => `<li><a href="#${id}">${escapeHtml(title)}</a></li>`);
  const calls = operations.map(
    (entry) =>
      `<li><a href="${anchorOf(entry)}"><span class="method ${entry.method.toLowerCase()}">${entry.method}</span>` +
      ` <span class="path">${entry.path}</span>${marker(entry)}</a></li>`,
  );
  return [
    `<h2>Guides</h2><ul>${guides.join("")}</ul>`,
    `<h2><a href="#operations">Operations</a></h2><ul class="calls">${calls.join("")}</ul>`,
    `<h2>For tools</h2><ul><li><a href="/openapi.json">openapi.json</a></li></ul>`,
  ].join("\n");
}

/** Stable operations need no mention. */
function marker({ operation }: OperationEntry): string {
  return operation["x-stability"] === "stable" && operation.deprecated !== true ? "" : ` ${operationBadge(operation)}`;
}
