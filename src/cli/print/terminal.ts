import { invisible } from "../../domain/masking.ts";
import { escapeInvisible } from "../../records/record-error.ts";

/** Makes a text one line that is safe on a terminal. Invisible characters become `�`. */
export function printable(text: string): string {
  return text.replaceAll(invisible, "\ufffd");
}

/** Writes JSON that is safe on a terminal, with `\u` escapes for invisible characters. Indented by two. */
export function printableJson(value: unknown): string {
  return escapeInvisible(JSON.stringify(value, null, 2), "\n");
}

/** As `printableJson`, on one line. */
export function printableJsonLine(value: unknown): string {
  return escapeInvisible(JSON.stringify(value));
}

/** The least width of the last cell of a row, in columns, however wide the others are. */
const minLastWidth = 20;

/**
 * Aligns rows of cells in columns, two spaces apart. The first row is the header. Cells are made safe for a terminal.
 * With `width`, a number of columns, the last cell of a row is cut to fit.
 */
export function formatTable(cells: readonly (readonly string[])[], width = Infinity): string {
  const rows = cells.map((row) => row.map(printable));
  const widths = columnWidths(rows);
  const left = widths.slice(0, -1).reduce((rest, each) => rest - each - 2, width);
  const cut = (row: readonly string[]) => row.with(-1, truncate(row.at(-1) ?? "", Math.max(left, minLastWidth)));
  return rows.map((row) => `${formatRow(cut(row), widths)}\n`).join("");
}

/** The width of each column of a table. The cells must be safe already. */
export function columnWidths(rows: readonly (readonly string[])[]): number[] {
  return (rows[0] ?? []).map((_, column) => widest(rows.map((row) => row[column] ?? "")));
}

/** The width of the terminal on stdout, in columns; undefined when stdout is not a terminal. */
export function terminalWidth(): number | undefined {
  return process.stdout.isTTY ? process.stdout.columns : undefined;
}

/** Breaks a text between words into lines of at most `width` columns. A longer word has a line of its own. */
export function wrapWords(text: string, width = Infinity): string {
  const lines: string[] = [];
  for (const word of text.split(" ")) {
    const line = lines.at(-1);
    if (line !== undefined && widthOf(line) + 1 + widthOf(word) <= width) {
      lines[lines.length - 1] = `${line} ${word}`;
    } else {
      lines.push(word);
    }
  }
  return lines.join("\n");
}

/** A line about one thing: its name, and the text. */
export type LabelledLine = readonly [label: string, text: string];

/** Writes lines for people, with the texts aligned. Texts are made safe for a terminal. */
export function formatLabelledLines(lines: readonly LabelledLine[]): string {
  const width = widest(lines.map(([label]) => label));
  return lines.map(([label, text]) => `${label.padEnd(width)}  ${printable(text)}\n`).join("");
}

/** Cuts a text to a number of columns. A text that is cut ends in an ellipsis. */
export function truncate(text: string, width: number): string {
  if (widthOf(text) <= width) {
    return text;
  }
  let kept = "";
  let left = width - 1;
  for (const { segment } of segmentsOf(text)) {
    left -= widthOfCharacter(segment);
    if (left < 0) {
      break;
    }
    kept += segment;
  }
  return `${kept}…`;
}

/** The number of columns that a text takes on a terminal. */
export function widthOf(text: string): number {
  if (plain.test(text)) {
    return text.length;
  }
  return [...segmentsOf(text)].reduce((width, { segment }) => width + widthOfCharacter(segment), 0);
}

/** The number of columns that the widest text takes. There may be more texts than a function takes arguments. */
export function widest(texts: Iterable<string>): number {
  let width = 0;
  for (const text of texts) {
    width = Math.max(width, widthOf(text));
  }
  return width;
}

/** ASCII needs no segmentation, which takes a hundred times as long. */
const plain = /^[ -~]*$/;

let segmenter: Intl.Segmenter | undefined;

/** The characters of a text as people count them. The segmenter takes long to create, and few texts need it. */
function segmentsOf(text: string): Intl.Segments {
  segmenter ??= new Intl.Segmenter();
  return segmenter.segment(text);
}

/** A grapheme that begins with a character of two columns. Source: Unicode, UAX 11 */
const wide =
  /^(?:[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\ua960-\ua97f\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff01-\uff60\uffe0-\uffe6\u{20000}-\u{3fffd}]|\p{Emoji_Presentation})/u;

function widthOfCharacter(character: string): number {
  return wide.test(character) ? 2 : 1;
}

/** Writes one row. Each cell takes its column's width, and two spaces stand between. The cells must be safe already. */
export function formatRow(row: readonly string[], widths: readonly number[]): string {
  return row
    .map((cell, column) => cell + " ".repeat((widths[column] ?? 0) - widthOf(cell)))
    .join("  ")
    .trimEnd();
}
