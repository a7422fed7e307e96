import { highlight } from "./highlight.ts";
import { escapeHtml } from "./html.ts";

/** A block of code, which `assets/code-block.js` gives a button to copy it. It can be scrolled by keyboard. */
export function codeBlock(code: string, language: string): string {
  return `<code-block><pre tabindex="0"><code>${highlight(code, language)}</code></pre></code-block>`;
}

/** One tab's worth of code. */
export interface CodeTab {
  readonly label: string;
  readonly syntax: string;
  readonly code: string;
}

/** Blocks of code, which `assets/code-tabs.js` turns into tabs; without scripts they stand below one another. */
export function codeTabs(name: string, tabs: readonly CodeTab[]): string {
  const panels = tabs.map(
    ({ label, syntax, code }) => `<section data-label="${escapeHtml(label)}">${codeBlock(code, syntax)}</section>`,
  );
  return `<code-tabs aria-label="${escapeHtml(name)}">${panels.join("")}</code-tabs>`;
}
