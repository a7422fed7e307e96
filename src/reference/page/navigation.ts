import { escapeHtml } from "../assets/html.js";
import type { Chapter } from "../chapters/chapter.ts";
import { operationBadge, toAnchor } from "../html/elements.ts";
import type { OpenApiDocument } from "../openapi/document.ts";
import type { OperationEntry } from "../openapi/operations.ts";

/** The operations of one tag. */
export interface OperationGroup {
  readonly id: string;
  readonly title: string;
  /** Empty where the group has none. */
  readonly description: string;
  readonly entries: readonly OperationEntry[];
}

/**
 * Groups the operations by the groups that they name, or by their first tag. Groups with a stable operation come first;
 * otherwise they keep the order of the description.
 */
export function groupOperations({ tags }: OpenApiDocument, entries: readonly OperationEntry[]): OperationGroup[] {
  const tagOf = new Map(tags.map((tag) => [tag.name, tag]));
  const titleOf = ({ operation }: OperationEntry) =>
    operation["x-group"] ?? tagOf.get(operation.tags[0] ?? "")?.["x-displayName"] ?? "";
  const descriptions = new Map(tags.map(({ "x-displayName": title, description }) => [title, description]));
  return [...Map.groupBy(entries, titleOf)]
    .map(([title, members]) => ({
      id: toAnchor(title),
      title,
      description: descriptions.get(title) ?? "",
      entries: members,
    }))
    .sort((a, b) => Number(hasStable(b)) - Number(hasStable(a)));
}

function hasStable({ entries }: OperationGroup): boolean {
  return entries.some(({ operation }) => operation["x-stability"] === "stable");
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
