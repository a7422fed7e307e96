const maxLength = 60;

// Control characters, format characters and line separators. A terminal obeys them, changes the direction of text for
// them, or hides them. JSON.stringify escapes only some.
const unprintable = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;

/** Quotes untrusted text for a message, on one line. Invisible characters become escapes. Long text is cut. */
export function quote(text: string): string {
  const cut = text.length > maxLength ? `${text.slice(0, maxLength)}…` : text;
  return JSON.stringify(cut).replaceAll(unprintable, escapeUnits);
}

/** As in JSON, a character beyond U+FFFF becomes two escapes. */
function escapeUnits(character: string): string {
  const units = Array.from({ length: character.length }, (_, index) => character.charCodeAt(index));
  return units.map((unit) => `\\u${unit.toString(16).padStart(4, "0")}`).join("");
}

/** Describes a parsed JSON value for a message: text in quotes, a number as it is, anything else by its type. */
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
