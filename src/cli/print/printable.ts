/** Control characters, format characters and line separators: a terminal obeys them, and does not show them. */
const unprintable = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;

/** Makes a text one line that is safe on a terminal. Invisible characters become `�`. */
export function printable(text: string): string {
  return text.replaceAll(unprintable, "\ufffd");
}

/** Writes JSON that is safe on a terminal, with `\u` escapes for invisible characters. Indented by two. */
export function printableJson(value: unknown): string {
  return escapeHidden(JSON.stringify(value, null, 2), "\n");
}

/** As `printableJson`, on one line. */
export function printableJsonLine(value: unknown): string {
  return escapeHidden(JSON.stringify(value));
}

function escapeHidden(json: string, kept?: string): string {
  return json.replaceAll(unprintable, (character) => (character === kept ? kept : escapeUnits(character)));
}

function escapeUnits(character: string): string {
  return Array.from({ length: character.length }, (_, index) => escapeUnit(character.charCodeAt(index))).join("");
}

function escapeUnit(unit: number): string {
  return `\\u${unit.toString(16).padStart(4, "0")}`;
}
