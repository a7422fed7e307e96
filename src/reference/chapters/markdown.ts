import { codeBlock } from "../page/code-block.ts";
import { inlineMarkdown } from "./markdown-inline.ts";

/*
 * The Markdown of the chapters, which are our own: headings, paragraphs, lists without lists in them, tables, and code
 * between fences; HTML within a line stays as it is. A whole parser of Markdown takes longer than all else of the page.
 */

/** A part of a text: its kind, and its lines. */
export interface MarkdownBlock {
  readonly type: "heading" | "paragraph" | "list" | "table" | "code";
  readonly lines: readonly string[];
}

/** The heading of a chapter: its id, and its level on the page. */
export interface ChapterHeading {
  readonly id: string;
  readonly level: number;
}

/** Makes HTML of blocks of Markdown. */
export type MarkdownRenderer = (blocks: readonly MarkdownBlock[]) => string;

/** A fence with all up to the next one; or lines up to an empty one. */
const block = /^```.*\n[\s\S]*?^```$|^(?:.*\S.*(?:\n|$))+/gm;

/** Takes Markdown apart into its blocks. */
export function parseMarkdown(text: string): readonly MarkdownBlock[] {
  return [...text.matchAll(block)].map(([match]) => {
    const lines = match.trimEnd().split("\n");
    return { type: typeOf(lines[0] ?? ""), lines };
  });
}

function typeOf(first: string): MarkdownBlock["type"] {
  const [, mark = ""] = /^(```|#+ |- |\d+\. |\|)/.exec(first) ?? [];
  const types: Readonly<Record<string, MarkdownBlock["type"]>> = { "```": "code", "|": "table", "": "paragraph" };
  return types[mark] ?? (mark.startsWith("#") ? "heading" : "list");
}

/**
 * Makes a renderer for the blocks of a chapter: they are trusted, HTML in them included. Headings have ids from their
 * text, after that of the chapter; tables can be scrolled by themselves; code is highlighted.
 */
export function createMarkdownRenderer(chapter: ChapterHeading): MarkdownRenderer {
  return (blocks) => blocks.map((each) => `${renderBlock(each, chapter)}\n`).join("");
}

function renderBlock({ type, lines }: MarkdownBlock, chapter: ChapterHeading): string {
  switch (type) {
    case "heading":
      return renderHeading(lines[0] ?? "", chapter);
    case "list":
      return renderList(lines);
    case "table":
      return renderTable(lines);
    case "code":
      return codeBlock(lines.slice(1, -1).join("\n"), (lines[0] ?? "").slice(3));
    case "paragraph":
      return `<p>${inlineMarkdown(lines.join("\n"))}</p>`;
  }
}

function renderHeading(line: string, { id: prefix, level }: ChapterHeading): string {
  const [, marks = "", text = ""] = /^(#+) (.*)$/.exec(line) ?? [];
  const id = `${prefix}-${toSlug(text)}`;
  const tag = `h${level + marks.length - 1}`;
  return `<${tag} id="${id}"><a class="anchor" href="#${id}">${inlineMarkdown(text)}</a></${tag}>`;
}

/** An item goes on in the lines below it that are indented. */
function renderList(lines: readonly string[]): string {
  const tag = lines[0]?.startsWith("- ") ? "ul" : "ol";
  const items = lines.join("\n").split(/\n(?=- |\d+\. )/);
  const html = items.map((item) => `<li>${inlineMarkdown(item.replace(/^(?:-|\d+\.) /, ""))}</li>`);
  return `<${tag}>${html.join("")}</${tag}>`;
}

/** A table that is wider than a phone is scrolled, by keyboard too, and not the page with it. */
function renderTable([head = "", rule = "", ...rows]: readonly string[]): string {
  const aligned = cellsOf(rule).map((cell) => (cell.endsWith(":") ? ' align="right"' : ""));
  const row = (line: string, tag: "th" | "td") => {
    const cells = cellsOf(line).map((cell, i) => `<${tag}${aligned[i] ?? ""}>${inlineMarkdown(cell)}</${tag}>`);
    return `<tr>${cells.join("")}</tr>`;
  };
  const body = rows.map((line) => row(line, "td")).join("\n");
  return `<div class="scroll" tabindex="0"><table><thead>${row(head, "th")}</thead><tbody>${body}</tbody></table></div>`;
}

function cellsOf(line: string): string[] {
  return line
    .split("|")
    .slice(1, -1)
    .map((cell) => cell.trim());
}

/** The text in lower case, its words joined by `-`. */
export function toSlug(text: string): string {
  return text
    .toLowerCase()
    .replace(/[^\p{L}\p{N}]+/gu, "-")
    .replace(/^-|-$/g, "");
}
