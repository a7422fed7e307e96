import { printable } from "./printable.ts";

/** What is said of one thing: its name, and the text. */
export type LabelledLine = readonly [label: string, text: string];

/** Writes texts for people, one a line, aligned behind their labels. All is made safe for a terminal. */
export function formatLabelledLines(lines: readonly LabelledLine[]): string {
  const width = Math.max(...lines.map(([label]) => label.length));
  return lines.map(([label, text]) => `${label.padEnd(width)}  ${printable(text)}\n`).join("");
}
