import { printable } from "./printable.ts";

/**
 * Aligns rows of cells in columns, two spaces apart, without trailing space. The first row is the header. Cells are
 * made safe for a terminal.
 */
export function formatTable(cells: readonly (readonly string[])[]): string {
  const rows = cells.map((row) => row.map(printable));
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => widthOf(row[column] ?? ""))));
  return rows.map((row) => `${formatRow(row, widths)}\n`).join("");
}

/** Cuts a text to a number of columns; it ends in an ellipsis where anything is lost. */
export function truncate(text: string, width: number): string {
  if (widthOf(text) <= width) {
    return text;
  }
  let kept = "";
  let left = width - 1;
  for (const { segment } of segmenter.segment(text)) {
    left -= widthOfCharacter(segment);
    if (left < 0) {
      break;
    }
    kept += segment;
  }
  return `${kept}…`;
}

/** How many columns of a terminal a text takes. */
export function widthOf(text: string): number {
  if (plain.test(text)) {
    return text.length;
  }
  return [...segmenter.segment(text)].reduce((width, { segment }) => width + widthOfCharacter(segment), 0);
}

/** Such characters stand for themselves, and are counted a hundred times as fast. */
const plain = /^[ -~]*$/;

const segmenter = new Intl.Segmenter();

/** A character as people count them, which begins with one that takes two columns. Source: Unicode, UAX 11 */
const wide =
  /^(?:[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\ua960-\ua97f\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff01-\uff60\uffe0-\uffe6\u{20000}-\u{3fffd}]|\p{Emoji_Presentation})/u;

function widthOfCharacter(character: string): number {
  return wide.test(character) ? 2 : 1;
}

function formatRow(row: readonly string[], widths: readonly number[]): string {
  return row
    .map((cell, column) => cell + " ".repeat((widths[column] ?? 0) - widthOf(cell)))
    .join("  ")
    .trimEnd();
}
