import { highlight } from "../assets/highlight.js";
import { escapeHtml } from "../assets/html.js";

/** A block of code, to which `assets/copy.js` gives a button that copies it. It can be scrolled by keyboard. */
export function codeBlock(code: string, language: string): string {
  return `<div class="code"><pre tabindex="0"><code>${highlight(code, language)}</code></pre></div>`;
}

/** Blocks of code below one another, each under its name, as one. */
export function codeBlocks(
  blocks: readonly { readonly label: string; readonly code: string }[],
  language: string,
): string {
  const titled = blocks.map(
    ({ label, code }) => `<div class="caption">${escapeHtml(label)}</div>${codeBlock(code, language)}`,
  );
  return `<div class="panel">${titled.join("")}</div>`;
}
