const settings: ReadonlyMap<string, boolean> = new Map([
  ["false", false],
  ["true", true],
  ["0", false],
  ["1", true],
]);

/** How a switch is written, for messages. */
export const switchForm = "true or false, or 1 or 0";

/** Reads whether something is on: `true`, `false`, `1` or `0`, in whatever case. Undefined for anything else. */
export function parseSwitch(text: string): boolean | undefined {
  return settings.get(text.toLowerCase());
}
