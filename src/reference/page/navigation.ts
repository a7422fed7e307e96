import { escapeHtml } from "../assets/html.js";
import type { Chapter } from "../chapters/chapter.ts";
import { operationBadge, toAnchor } from "../html/inline-html.ts";
import type { OperationEntry } from "../openapi/operations.ts";
import type { OpenApiDocument } from "../openapi/view.ts";

/** The operations of one tag. */
export interface OperationGroup {
  readonly id: string;
  readonly title: string;
  readonly description: string;
  readonly entries: readonly OperationEntry[];
}

/** Groups the operations by their first tag, in the order of the tags. */
export function groupOperations({ tags }: OpenApiDocument, entries: readonly OperationEntry[]): OperationGroup[] {
  return tags.map(({ name, "x-displayName": title, description }) => ({
    id: toAnchor(title),
    title,
    description,
    entries: entries.filter(({ operation }) => operation.tags[0] === name),
  }));
}

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

/** A stable operation has no marker. A date does not fit here. */
function marker({ operation }: OperationEntry): string {
  const badge = operationBadge(operation);
  return operation["x-stability"] === "stable" && operation.deprecated !== true ? "" : badge.replace(/ · [^<]*/, "");
}
