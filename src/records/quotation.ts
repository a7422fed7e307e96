const maxLength = 60;

// Controls, formats and separators of lines: JSON.stringify leaves most of them as they are. A terminal obeys them, is
// turned around by them, or does not show them.
const unprintable = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;

/** Shows untrusted text in a message: in quotes, on one line, what is not seen as escapes, and cut when it is long. */
export function quote(text: string): string {
  const cut = text.length > maxLength ? `${text.slice(0, maxLength)}…` : text;
  return JSON.stringify(cut).replaceAll(unprintable, escapeUnits);
}

/** As JSON has it: a character beyond U+FFFF is a pair. */
function escapeUnits(character: string): string {
  const units = Array.from({ length: character.length }, (_, index) => character.charCodeAt(index));
  return units.map((unit) => `\\u${unit.toString(16).padStart(4, "0")}`).join("");
}

/** Shows a parsed JSON value in a message: text in quotes, numbers as they are, and the rest by its kind. */
export function describeJson(value: unknown): string {
  if (typeof value === "string") {
    return quote(value);
  }
  if (Array.isArray(value)) {
    return "an array";
  }
  if (typeof value === "object" && value !== null) {
    return "an object";
  }
  return String(value);
}
