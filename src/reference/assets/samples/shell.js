// @ts-check
import { keyVariable } from "./call.js";

/** The header with the key, which the shell fills in. */
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
 * As `quote`, but leaves a text that needs no quotes.
 *
 * @param {string} text
 */
export function quoteIfNeeded(text) {
  return /^[\w.:/@%+=,-]+$/.test(text) ? text : quote(text);
}

/**
 * A command with each part on its own line.
 *
 * @param {readonly string[]} parts
 */
export function joinLines(parts) {
  return parts.join(" \\\n  ");
}

/**
 * Headers as options of a command.
 *
 * @param {readonly (readonly [name: string, value: string])[]} headers
 */
export function headerOptions(headers) {
  return headers.map(([name, value]) => `-H ${quote(`${name}: ${value}`)}`);
}
