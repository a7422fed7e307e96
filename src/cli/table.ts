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

/** Cuts a text to a number of characters as people count them, the last one an ellipsis where anything is lost. */
export function truncate(text: string, width: number): string {
  const characters = [...segmenter.segment(text)];
  if (characters.length <= width) {
    return text;
  }
  return `${characters
    .slice(0, Math.max(width - 1, 0))
    .map(({ segment }) => segment)
    .join("")}…`;
}

const segmenter = new Intl.Segmenter();

function widthOf(text: string): number {
  return [...segmenter.segment(text)].length;
}

function formatRow(row: readonly string[], widths: readonly number[]): string {
  return row
    .map((cell, column) => cell + " ".repeat((widths[column] ?? 0) - widthOf(cell)))
    .join("  ")
    .trimEnd();
}
