import { escapeHtml } from "../assets/html.js";
import type { Chapter } from "../chapters/chapter.ts";
import type { OperationEntry } from "../openapi/operations.ts";
import { operationBadge } from "./badge.ts";
import type { OperationGroup } from "./operation-group.ts";

/** The links to all chapters and operations, as HTML. */
export function navigation(groups: readonly OperationGroup[], overview: Chapter, guides: readonly Chapter[]): string {
  return [
    list("Get started", [
      `<a href="#${overview.id}">${escapeHtml(overview.title)}</a>`,
      `<a href="#${overview.id}-quick-start">Quick start</a>`,
    ]),
    ...groups.map(({ id, title, entries }) => list(`<a href="#${id}">${title}</a>`, entries.map(operationLink))),
    list(
      "Guides",
      guides.map(({ id, title }) => `<a href="#${id}">${escapeHtml(title)}</a>`),
    ),
    list("For tools", ['<a href="/openapi.json">openapi.json</a>']),
  ].join("\n");
}

function list(title: string, links: readonly string[]): string {
  return `<h2>${title}</h2><ul>${links.map((link) => `<li>${link}</li>`).join("")}</ul>`;
}

function operationLink(entry: OperationEntry): string {
  return (
    `<a href="#${entry.id}" data-path="${entry.method} ${entry.path}"><span>${entry.title}</span>${marker(entry)}` +
    `<span class="method ${entry.method.toLowerCase()}">${entry.method}</span></a>`
  );
}

/** Stable operations need no mention, and a date has no room here. */
function marker({ operation }: OperationEntry): string {
  const badge = operationBadge(operation);
  return operation["x-stability"] === "stable" && operation.deprecated !== true ? "" : badge.replace(/ · [^<]*/, "");
}
