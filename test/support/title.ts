/** The longest text that stands in a title whole. */
const maxLength = 60;

/** A text as it may stand in a test's title, which is one line of the report, and no longer than people read. */
export function titleOf(text: string): string {
  return JSON.stringify(text.length > maxLength ? `${text.slice(0, maxLength)}…` : text);
}
