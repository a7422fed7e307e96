const settings: Partial<Record<string, boolean>> = {
  "0": false,
  false: false,
  no: false,
  off: false,
  "1": true,
  true: true,
  yes: true,
  on: true,
};

/** Reads whether something is on, such as `true`, `off` or `1`. Undefined for anything else. */
export function parseSwitch(text: string): boolean | undefined {
  return settings[text.toLowerCase()];
}
