import { escapeHtml } from "../assets/html.js";
import type { OpenApiOperation } from "../openapi/view.ts";

/** A sentence of the OpenAPI description as HTML. Code is the only Markdown in it. */
export function inline(text: string): string {
  return escapeHtml(text).replace(/`([^`]+)`/g, "<code>$1</code>");
}

/** The paragraphs of the OpenAPI description as HTML, without its lists: callers render those. */
export function paragraphs(text: string): string {
  const blocks = text.split("\n\n").filter((block) => !block.startsWith("- "));
  return blocks.map((block) => `<p>${inline(block)}</p>`).join("");
}

/** The badge of an operation as HTML: its stability, or its deprecation with the sunset date. */
export function operationBadge(operation: OpenApiOperation): string {
  const stability = operation["x-stability"];
  return operation.deprecated === true
    ? badge("deprecated", `deprecated · sunset ${operation["x-sunset"]}`)
    : badge(stability, stability);
}

/** The badge of an HTTP status as HTML. */
export function statusBadge(status: number): string {
  return `<span class="status s${Math.floor(status / 100)}">${status}</span>`;
}

/** The anchor of a heading: its words in lower case, joined by `-`. */
export function toAnchor(heading: string): string {
  return heading
    .toLowerCase()
    .replace(/[^\p{L}\p{N}]+/gu, "-")
    .replace(/^-|-$/g, "");
}

function badge(kind: string, text: string): string {
  return `<span class="badge ${kind}">${text}</span>`;
}
