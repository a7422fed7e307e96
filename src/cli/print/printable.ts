import { escapeInvisible, invisible } from "../../records/quotation.ts";

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
