// @ts-check

/** @type {Readonly<Record<string, string>>} */
const entities = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" };

/**
 * A text as it stands in HTML: between tags, or between double quotes.
 *
 * @param {string} text
 */
export function escapeHtml(text) {
  return text.replace(/[&<>"]/g, (character) => entities[character] ?? character);
}
