import { readFileSync } from "node:fs";
import { join } from "node:path";
import { renderMarkdown, toSlug } from "./markdown.ts";

/** A chapter of the reference's prose. */
export interface Chapter {
  /** The anchor of the chapter. */
  readonly id: string;
  readonly title: string;
  readonly html: string;
}

/** The chapters' files in `pages/`, in the order of reading. */
const files = ["overview.md", "authentication.md", "limits.md", "errors.md", "versioning.md", "rpc.md"];

/** The project's own changelog is the last chapter. */
const changelog = join(import.meta.dirname, "../../CHANGELOG.md");

/** What stands for `{{name}}` in the prose: tables and samples, from the one source of each. */
export interface Placeholders {
  /** Markdown, which is put in before the chapter is rendered. */
  readonly markdown: Readonly<Record<string, string>>;
  /** HTML, which stands in a paragraph of its own, and is put in afterwards. */
  readonly html: Readonly<Record<string, string>>;
}

/** Reads and renders all chapters. Throws when one names a placeholder that there is not, or has no title. */
export function readChapters(placeholders: Placeholders): Chapter[] {
  const paths = [...files.map((file) => join(import.meta.dirname, "pages", file)), changelog];
  return paths.map((path) => renderChapter(readFileSync(path, "utf8"), placeholders));
}

/** Renders a chapter: its title is the first line, `# Title`. */
export function renderChapter(text: string, { markdown, html }: Placeholders): Chapter {
  const [, title, prose] = /^# ([^\n]+)\n(.*)$/s.exec(text) ?? [];
  if (title === undefined || prose === undefined) {
    throw new Error(`a chapter begins without a title: ${text.slice(0, 40)}`);
  }
  const id = toSlug(title);
  const rendered = renderMarkdown(fill(prose, inText, markdown), id);
  const filled = fill(rendered, inParagraph, html);
  assertFilled(filled);
  return { id, title, html: filled };
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
