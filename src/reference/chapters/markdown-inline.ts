import { escapeHtml } from "../assets/html.js";

/** Code; a link, whose text may be code; strong text, which may be either. */
const span = /`([^`]+)`|\[([^\]]+)\]\(([^)\s]+)\)|\*\*([^*]+)\*\*/g;

/** A line of Markdown as HTML: code, links and strong text. HTML in it stays as it is. */
export function inlineMarkdown(text: string): string {
  return text.replace(span, (_, code?: string, label?: string, href?: string, strong?: string) => {
    if (code !== undefined) {
      return `<code>${escapeHtml(code)}</code>`;
    }
    return label !== undefined
      ? `<a href="${href}">${inlineMarkdown(label)}</a>`
      : `<strong>${inlineMarkdown(strong ?? "")}</strong>`;
  });
}
