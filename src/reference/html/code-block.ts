import { highlight } from "../assets/highlight.js";
import { escapeHtml } from "../assets/html.js";
import type { SampleCall } from "../assets/samples/call.js";
import { sampleLanguages } from "../assets/samples/languages.js";

/** A block of code, which can be scrolled by keyboard. `assets/copy.js` adds a button that copies it. */
export function codeBlock(code: string, language: string): string {
  return `<div class="code"><pre tabindex="0"><code>${highlight(code, language)}</code></pre></div>`;
}

/** Blocks of code with captions, in one panel. */
export function codeBlocks(
  blocks: readonly { readonly label: string; readonly code: string }[],
  language: string,
): string {
  const titled = blocks.map(
    ({ label, code }) => `<div class="caption">${escapeHtml(label)}</div>${codeBlock(code, language)}`,
  );
  return `<div class="panel">${titled.join("")}</div>`;
}

/**
 * A call in all languages, as tabs. Without scripts, the tabs are shown below one another. With scripts, the page's
 * `data-language` selects one before the first paint, so the page does not move.
 *
 * Source: https://www.w3.org/WAI/ARIA/apg/patterns/tabs/
 */
export function sampleTabs(prefix: string, call: SampleCall): string {
  const tabs = sampleLanguages.map(
    ({ id, label }, i) =>
      `<button type="button" role="tab" id="${prefix}-tab-${id}" aria-controls="${prefix}-in-${id}" aria-selected="${i === 0}"` +
      `${i === 0 ? "" : ' tabindex="-1"'} data-language="${id}">${label}</button>`,
  );
  const panels = sampleLanguages.map(
    ({ id, label, syntax, write }) =>
      `<div role="tabpanel" id="${prefix}-in-${id}" aria-labelledby="${prefix}-tab-${id}" data-language="${id}" data-label="${label}">` +
      `${codeBlock(write(call), syntax)}</div>`,
  );
  return `<div class="samples"><div role="tablist" aria-label="Languages">${tabs.join("")}</div>${panels.join("")}</div>`;
}
