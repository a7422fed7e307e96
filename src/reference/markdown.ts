import { Marked } from "marked";
import { codeBlock } from "./code-block.ts";

/**
 * Renders Markdown of our own: it is trusted, HTML in it included. Headings have ids from their text, after `prefix`;
 * tables can be scrolled by themselves; code is highlighted.
 */
export function renderMarkdown(markdown: string, prefix: string): string {
  const marked = new Marked({
    renderer: {
      heading({ tokens, text, depth }) {
        const id = `${prefix}-${toSlug(text)}`;
        // A chapter's own title is the page's second level.
        const level = depth + 1;
        return `<h${level} id="${id}"><a class="anchor" href="#${id}">${this.parser.parseInline(tokens)}</a></h${level}>\n`;
      },
      code: ({ text, lang }) => codeBlock(text, lang ?? ""),
    },
  });
  return scrollTables(marked.parse(markdown, { async: false }));
}

/** The text in lower case, its words joined by `-`. */
export function toSlug(text: string): string {
  return text
    .toLowerCase()
    .replace(/[^\p{L}\p{N}]+/gu, "-")
    .replace(/^-|-$/g, "");
}

/** A table that is wider than a phone is scrolled, and not the page with it. */
function scrollTables(html: string): string {
  return html.replaceAll("<table>", '<div class="scroll"><table>').replaceAll("</table>", "</table></div>");
}
