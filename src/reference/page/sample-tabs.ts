import type { SampleCall } from "../assets/samples/call.js";
import { sampleLanguages } from "../assets/samples/languages.js";
import { codeBlock } from "./code-block.ts";

/**
 * A call in all languages, as tabs. Without scripts they stand below one another; with them `data-language` of the
 * page says which is shown, so that nothing moves when the page has loaded.
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
