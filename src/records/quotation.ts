const maxLength = 60;

// C1 controls and the characters that reorder text: JSON.stringify leaves them as they are, and a terminal obeys them.
const unprintable = /[\u007f-\u009f\u2028-\u202e\u2066-\u2069]/g;

/** Shows untrusted text in a message: in quotes, on one line, without control characters, and cut when it is long. */
export function quote(text: string): string {
  const cut = text.length > maxLength ? `${text.slice(0, maxLength)}…` : text;
  return JSON.stringify(cut).replace(unprintable, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`);
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
