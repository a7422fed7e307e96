import { toAnchor } from "../html/inline-html.ts";
import { readReferenceFile } from "../reference-file.ts";
import { arrangeBlocks } from "./chapter-layout.ts";
import { createMarkdownRenderer, parseMarkdown } from "./markdown.ts";

/** A chapter of the reference. */
export interface Chapter {
  /** The anchor of the chapter. */
  readonly id: string;
  readonly title: string;
  readonly html: string;
}

/** The tables and samples that replace `{{name}}` in the chapters. */
export interface TemplateValues {
  /** Markdown, inserted before the chapter is rendered. */
  readonly markdown: Readonly<Record<string, string>>;
  /** HTML of code, in place of a paragraph. */
  readonly code: Readonly<Record<string, string>>;
  /** HTML that needs the whole width, in place of a paragraph. */
  readonly wide: Readonly<Record<string, string>>;
}

/** The chapters after the operations, in their order. */
const guides = ["authentication", "conventions", "stock", "limits", "errors", "rpc", "versioning"];

/** Reads and renders all chapters. Throws for an unknown placeholder, or a chapter without a title. */
export function readChapters(values: TemplateValues): readonly [overview: Chapter, ...guides: Chapter[]] {
  const read = (name: string) => readReferenceFile("chapters", `${name}.md`).toString();
  return [renderChapter(read("overview"), values, 1), ...guides.map((name) => renderChapter(read(name), values))];
}

/** Renders a chapter, whose first line is `# Title`. `level` is that of the title on the page, 2 by default. */
export function renderChapter(text: string, values: TemplateValues, level = 2): Chapter {
  const [, title, prose] = /^# ([^\n]+)\n(.*)$/s.exec(text) ?? [];
  if (title === undefined || prose === undefined) {
    throw new Error(`a chapter has no title: ${text.slice(0, 40)}`);
  }
  const id = toAnchor(title);
  const { markdown, code, wide } = values;
  const filled = fill(prose, inText, markdown);
  const html = fill(arrangeBlocks(parseMarkdown(filled), createMarkdownRenderer({ id, level }), values), inParagraph, {
    ...code,
    ...wide,
  });
  assertFilled(html);
  return { id, title, html };
}

const inText = /\{\{([\w-]+)\}\}/g;
const inParagraph = /<p>\{\{([\w-]+)\}\}<\/p>/g;

function fill(text: string, placeholder: RegExp, texts: Readonly<Record<string, string>>): string {
  return text.replace(placeholder, (whole, name: string) => texts[name] ?? whole);
}

function assertFilled(html: string): void {
  const [placeholder] = html.match(inText) ?? [];
  if (placeholder !== undefined) {
    throw new Error(`a chapter has the unknown placeholder ${placeholder}`);
  }
}
