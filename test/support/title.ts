/** The longest text that a title shows in full. */
const maxLength = 60;

/** Shortens a text for the title of a test, which is one line of the report. */
export function titleOf(text: string): string {
  return JSON.stringify(text.length > maxLength ? `${text.slice(0, maxLength)}…` : text);
}
