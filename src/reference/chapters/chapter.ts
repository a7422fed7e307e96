import { readReferenceFile } from "../reference-file.ts";
import { arrangeBlocks } from "./chapter-layout.ts";
import { createMarkdownRenderer, parseMarkdown, toSlug } from "./markdown.ts";

/** A chapter of the reference's prose. */
export interface Chapter {
  /** The anchor of the chapter. */
  readonly id: string;
  readonly title: string;
  readonly html: string;
}

/** What stands for `{{name}}` in the prose: tables and samples, from the one source of each. */
export interface Placeholders {
  /** Markdown, which is put in before the chapter is rendered. */
  readonly markdown: Readonly<Record<string, string>>;
  /** HTML of code, which stands in a paragraph of its own. */
  readonly code: Readonly<Record<string, string>>;
  /** HTML that needs the whole width, likewise. */
  readonly wide: Readonly<Record<string, string>>;
}

/** The chapters, in the order of reading. The first one comes before the operations, the others after. */
const names = ["overview", "authentication", "conventions", "limits", "errors", "rpc", "versioning"];

/** Reads and renders all chapters. Throws when one names a placeholder that there is not, or has no title. */
export function readChapters(placeholders: Placeholders): Chapter[] {
  return names.map((name, i) =>
    renderChapter(readReferenceFile("chapters", `${name}.md`).toString(), placeholders, i === 0 ? 1 : 2),
  );
}

/** Renders a chapter: its title is the first line, `# Title`, and a heading of the page of `level`, by default the second. */
export function renderChapter(text: string, placeholders: Placeholders, level = 2): Chapter {
  const [, title, prose] = /^# ([^\n]+)\n(.*)$/s.exec(text) ?? [];
  if (title === undefined || prose === undefined) {
    throw new Error(`a chapter begins without a title: ${text.slice(0, 40)}`);
  }
  const id = toSlug(title);
  const { markdown, code, wide } = placeholders;
  const filled = fill(prose, inText, markdown);
  const html = fill(
    arrangeBlocks(parseMarkdown(filled), createMarkdownRenderer({ id, level }), placeholders),
    inParagraph,
    {
      ...code,
      ...wide,
    },
  );
  assertFilled(html);
  return { id, title, html };
}

const inText = /\{\{([\w-]+)\}\}/g;
const inParagraph = /<p>\{\{([\w-]+)\}\}<\/p>/g;

function fill(text: string, placeholder: RegExp, values: Readonly<Record<string, string>>): string {
  return text.replace(placeholder, (whole, name: string) => values[name] ?? whole);
}

function assertFilled(html: string): void {
  const [placeholder] = html.match(inText) ?? [];
  if (placeholder !== undefined) {
    throw new Error(`a chapter names ${placeholder}, which there is not`);
  }
}
