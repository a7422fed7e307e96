import { readReferenceFile } from "../asset.ts";
import { toAnchor } from "../elements.ts";
import { createMarkdownRenderer, type MarkdownBlock, type MarkdownRenderer, parseMarkdown } from "./markdown.ts";

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

/** The blocks from one heading to the next. */
type Section = readonly MarkdownBlock[];

/**
 * Renders a chapter in two columns. In a section with code, the code is on the right of its text. Other sections are side
 * by side. On a narrow screen everything is in the order of the text.
 */
function arrangeBlocks(blocks: readonly MarkdownBlock[], render: MarkdownRenderer, values: TemplateValues): string {
  const isCode = (block: MarkdownBlock) => block.type === "code" || isPlaceholder(block, values.code);
  const isWide = (block: MarkdownBlock) => isPlaceholder(block, values.wide);
  const parts: string[] = [];
  let cards: string[] = [];
  const endCards = () => {
    if (cards.length > 0) {
      parts.push(`<div class="cards">${cards.join("")}</div>`);
      cards = [];
    }
  };
  for (const section of splitSections(blocks)) {
    if (section.some(isCode)) {
      endCards();
      parts.push(...splitAtCode(section, isCode).map((split) => writeSplit(split, render)));
    } else if (section.some(isWide)) {
      endCards();
      parts.push(`<div class="wide">${render(section)}</div>`);
    } else {
      cards.push(`<div class="card">${render(section)}</div>`);
    }
  }
  endCards();
  return parts.join("\n");
}

function isPlaceholder({ lines }: MarkdownBlock, values: Readonly<Record<string, string>>): boolean {
  const [, name] = /^\{\{([\w-]+)\}\}$/.exec(lines[0] ?? "") ?? [];
  return lines.length === 1 && name !== undefined && Object.hasOwn(values, name);
}

function splitSections(blocks: readonly MarkdownBlock[]): Section[] {
  const sections: MarkdownBlock[][] = [[]];
  for (const block of blocks) {
    if (block.type === "heading" && sections.at(-1)?.length !== 0) {
      sections.push([]);
    }
    sections.at(-1)?.push(block);
  }
  return sections.filter((section) => section.length > 0);
}

/** Code with the text before and after it. The last paragraph before the next code belongs to that code. */
interface Split {
  readonly before: MarkdownBlock[];
  readonly code: MarkdownBlock;
  readonly after: MarkdownBlock[];
}

function splitAtCode(section: Section, isCode: (block: MarkdownBlock) => boolean): Split[] {
  const splits: Split[] = [];
  let prose: MarkdownBlock[] = [];
  for (const block of section) {
    if (isCode(block)) {
      const previous = splits.at(-1);
      previous?.after.push(...prose.slice(0, -1));
      splits.push({ before: previous === undefined ? prose : prose.slice(-1), code: block, after: [] });
      prose = [];
    } else {
      prose.push(block);
    }
  }
  splits.at(-1)?.after.push(...prose);
  return splits;
}

function writeSplit({ before, code, after }: Split, render: MarkdownRenderer): string {
  const [first, shown, last] = [before, [code], after].map(render);
  return `<div class="split prose"><div class="before">${first}</div><div class="shown">${shown}</div><div class="after">${last}</div></div>`;
}
