import { escapeHtml } from "../assets/html.js";

/** A sentence of a description as HTML, its code marked. Descriptions have no other Markdown within a line. */
export function inline(text: string): string {
  return escapeHtml(text).replace(/`([^`]+)`/g, "<code>$1</code>");
}

/** The paragraphs of a description as HTML; its lists are left to those who know what they list. */
export function paragraphs(text: string): string {
  const blocks = text.split("\n\n").filter((block) => !block.startsWith("- "));
  return blocks.map((block) => `<p>${inline(block)}</p>`).join("");
}
