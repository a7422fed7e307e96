import { highlight } from "./assets/highlight.js";
import { escapeHtml } from "./assets/html.js";
import type { SampleCall } from "./assets/samples/call.js";
import { sampleLanguages } from "./assets/samples/languages.js";
import type { OpenApiOperation } from "./openapi.ts";

/** A sentence of the OpenAPI description as HTML. Code is the only Markdown in it. */
export function inline(text: string): string {
  return text
    .split(/`([^`]+)`/)
    .map((part, i) => (i % 2 === 0 ? escapeHtml(part) : inlineCode(part)))
    .join("");
}

/** The longest word of code that stays on one line, in characters. */
const maxWhole = 24;

/** Code within a sentence, as HTML. A short word such as `If-None-Match` or `--demo` does not wrap at its hyphens. */
export function inlineCode(code: string): string {
  const html = escapeHtml(code).replace(/\S*-\S*/g, (word) =>
    word.length > maxWhole ? word : `<span class="whole">${word}</span>`,
  );
  return `<code>${html}</code>`;
}

/** The paragraphs of the OpenAPI description as HTML, without its lists: callers render those. */
export function paragraphs(text: string): string {
  const blocks = text.split("\n\n").filter((block) => !block.startsWith("- "));
  return blocks.map((block) => `<p>${inline(block)}</p>`).join("");
}

/** The badge of an operation as HTML: its stability, or its deprecation with the sunset date. */
export function operationBadge(operation: OpenApiOperation): string {
  const stability = operation["x-stability"];
  return operation.deprecated === true
    ? badge("deprecated", `deprecated · sunset ${operation["x-sunset"]}`)
    : badge(stability, stability);
}

/** The badge of an HTTP status as HTML. */
export function statusBadge(status: number): string {
  return `<span class="status s${Math.floor(status / 100)}">${status}</span>`;
}

/** The anchor of a heading: its words in lower case, joined by `-`. */
export function toAnchor(heading: string): string {
  return heading
    .toLowerCase()
    .replace(/[^\p{L}\p{N}]+/gu, "-")
    .replace(/^-|-$/g, "");
}

function badge(kind: string, text: string): string {
  return `<span class="badge ${kind}">${text}</span>`;
}

/**
 * A block of code, which can be scrolled by keyboard. Its language is a class. `assets/copy.js` adds a button that copies
 * it.
 */
export function codeBlock(code: string, language: string): string {
  return `<div class="${`code ${language}`.trimEnd()}"><pre tabindex="0"><code>${highlight(code, language)}</code></pre></div>`;
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
