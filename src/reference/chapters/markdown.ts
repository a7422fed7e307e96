import { codeBlock, inlineCode, toAnchor } from "../elements.ts";
import type { OperationEntry } from "../operations.ts";

/*
 * The Markdown of the chapters: headings, paragraphs, flat lists, tables and fenced code. HTML within a line is kept. A
 * full Markdown parser would take longer than the rest of the page.
 */

/** A block of a text, with its lines. */
export interface MarkdownBlock {
  readonly type: "heading" | "paragraph" | "list" | "table" | "code";
  readonly lines: readonly string[];
}

/** The id of a chapter, and the level of its heading on the page. */
interface ChapterHeading {
  readonly id: string;
  readonly level: number;
}

/** Renders blocks of Markdown as HTML. */
export type MarkdownRenderer = (blocks: readonly MarkdownBlock[]) => string;

/** Fenced code, or lines up to an empty one. */
const block = /^```.*\n[\s\S]*?^```$|^(?:.*\S.*(?:\n|$))+/gm;

/** Splits Markdown into blocks. */
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
 * Creates a renderer for the blocks of a chapter. Chapters are trusted, including their HTML. The id of a heading is
 * that of the chapter, followed by the heading's text.
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
  const id = `${prefix}-${toAnchor(text)}`;
  const tag = `h${level + marks.length - 1}`;
  return `<${tag} id="${id}"><a class="anchor" href="#${id}">${inlineMarkdown(text)}</a></${tag}>`;
}

/** Indented lines continue an item. */
function renderList(lines: readonly string[]): string {
  const tag = lines[0]?.startsWith("- ") ? "ul" : "ol";
  const items = lines.join("\n").split(/\n(?=- |\d+\. )/);
  const html = items.map((item) => `<li>${inlineMarkdown(item.replace(/^(?:-|\d+\.) /, ""))}</li>`);
  return `<${tag}>${html.join("")}</${tag}>`;
}

/** A wide table scrolls by itself, also by keyboard, so that the page does not. */
function renderTable([head = "", rule = "", ...rows]: readonly string[]): string {
  const aligned = cellsOf(rule).map((cell) => (cell.endsWith(":") ? ' align="right"' : ""));
  const row = (line: string, tag: "th" | "td") => {
    const cells = cellsOf(line).map((cell, i) => `<${tag}${aligned[i] ?? ""}>${inlineMarkdown(cell)}</${tag}>`);
    return `<tr>${cells.join("")}</tr>`;
  };
  const body = rows.map((line) => row(line, "td")).join("\n");
  return `<div class="scroll" tabindex="0"><table><thead>${row(head, "th")}</thead><tbody>${body}</tbody></table></div>`;
}

/** Code; a link, whose text may be code; or strong text, which may contain both. */
const span = /`([^`]+)`|\[([^\]]+)\]\(([^)\s]+)\)|\*\*([^*]+)\*\*/g;

function inlineMarkdown(text: string): string {
  return text.replace(span, (_, code?: string, label?: string, href?: string, strong?: string) => {
    if (code !== undefined) {
      return inlineCode(code);
    }
    return label !== undefined
      ? `<a href="${href}">${inlineMarkdown(label)}</a>`
      : `<strong>${inlineMarkdown(strong ?? "")}</strong>`;
  });
}

function cellsOf(line: string): string[] {
  return line
    .split("|")
    .slice(1, -1)
    .map((cell) => cell.trim());
}

/** A table in Markdown. `rule` is its second line, which aligns the columns. */
export function writeTable(
  head: readonly string[],
  rows: readonly (readonly string[])[],
  rule: readonly string[] = head.map(() => "---"),
): string {
  return [head, rule, ...rows].map((cells) => `| ${cells.join(" | ")} |`).join("\n");
}

/** A number with a comma between thousands. `toLocaleString` would load the data of all languages. */
export function writeNumber(value: number): string {
  return String(value).replace(/(?<=\d)(?=(?:\d{3})+$)/g, ",");
}

/** The units, and the shortest length that each one writes. One day is written as 24 hours. */
const units = [
  { name: "day", ms: 86_400_000, fromMs: 172_800_000 },
  { name: "hour", ms: 3_600_000, fromMs: 3_600_000 },
  { name: "minute", ms: 60_000, fromMs: 60_000 },
];

/** A length of time, such as `15 minutes`. Its unit is the largest one that leaves no remainder. */
export function writeLength(lengthMs: number): string {
  const fitting = units.find(({ ms, fromMs }) => lengthMs >= fromMs && lengthMs % ms === 0);
  const { name, ms } = fitting ?? { name: "second", ms: 1_000 };
  const count = lengthMs / ms;
  return `${count} ${name}${count === 1 ? "" : "s"}`;
}

/** A link to an operation by its method and path, as HTML. A long path may wrap at its segments. */
export function operationLink({ method, path, id }: OperationEntry): string {
  return `<a href="#${id}"><code>${method} ${path.replace(/(?<=.)[/:]/g, "<wbr>$&")}</code></a>`;
}
