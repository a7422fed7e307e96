/*
 * PostgreSQL's texts have no U+0000, and those of the store may have one. So U+0000 is written as U+E000 and `0`, and
 * U+E000, a private character that hardly anybody uses, as itself and `1`.
 */

/** Writes a text as PostgreSQL can keep it. */
export function encodeText(text: string): string {
  return text.includes("\0") || text.includes("\uE000")
    ? text.replaceAll("\uE000", "\uE0001").replaceAll("\0", "\uE0000")
    : text;
}

/** Reads what `encodeText` has written. */
export function decodeText(text: string): string {
  return text.includes("\uE000")
    ? text.replace(/\uE000([01])/g, (_, digit) => (digit === "0" ? "\0" : "\uE000"))
    : text;
}

export function decodeTexts(texts: readonly string[]): string[] {
  return texts.map(decodeText);
}
