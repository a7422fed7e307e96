// @ts-check

/** @type {Readonly<Record<string, string>>} */
const entities = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" };

/**
 * Escapes a text for HTML, between tags or double quotes.
 *
 * @param {string} text
 */
export function escapeHtml(text) {
  return text.replace(/[&<>"]/g, (character) => entities[character] ?? character);
}
