/** What a terminal obeys, or turns lines around by, and does not show: controls, formats, separators of lines. */
const unprintable = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;

/** A text as one line that is safe on a terminal: whatever it would not show becomes `�`. */
export function printable(text: string): string {
  return text.replaceAll(unprintable, "\ufffd");
}

/** JSON that is safe on a terminal: the same value, with `\u` escapes for what that would not show. Indented by two. */
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
