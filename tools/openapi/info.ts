/** The description's statements about the API as a whole. */
export interface Info {
  readonly title: string;
  /** The version of the interface, not of the program. */
  readonly version: string;
  /** A sentence on what the API is for. */
  readonly description: string;
}

/** Reads the plugin's options. Throws an `Error` when one is missing, or unknown. */
export function parseInfo(options: { key: string; value: string }[]): Info {
  const { title, version, description, ...others } = Object.fromEntries(options.map(({ key, value }) => [key, value]));
  const [unknown] = Object.keys(others);
  if (unknown !== undefined) {
    throw new Error(`there is no option ${unknown}`);
  }
  if (title === undefined || version === undefined || description === undefined) {
    throw new Error("the options title, version and description are needed");
  }
  return { title, version, description };
}
