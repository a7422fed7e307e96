// @ts-check
import { keyVariable } from "./call.js";

/** The header that carries the key, as a shell fills it in. */
export const authorization = `-H "Authorization: Bearer $${keyVariable}"`;

/**
 * A text as one word of a shell. Source: POSIX, Shell Command Language, 2.2.2
 *
 * @param {string} text
 */
export function quote(text) {
  return `'${text.replaceAll("'", "'\\''")}'`;
}

/**
 * As `quote`, but a text that a shell takes as it is stays so.
 *
 * @param {string} text
 */
export function quoteIfNeeded(text) {
  return /^[\w.:/@%+=,-]+$/.test(text) ? text : quote(text);
}

/**
 * A command, each of its parts on a line.
 *
 * @param {readonly string[]} parts
 */
export function joinLines(parts) {
  return parts.join(" \\\n  ");
}
