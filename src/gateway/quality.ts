/** One choice of a header such as `Accept` or `Accept-Encoding`. */
export interface Preference {
  /** In lower case, without its parameters. */
  readonly name: string;
  /** From 0, not acceptable, to 1. */
  readonly quality: number;
}

/**
 * Reads a list of choices with their weights. One whose weight is malformed is not acceptable.
 *
 * Source: RFC 9110, 12.4.2
 */
export function parsePreferences(header: string): Preference[] {
  return header.split(",").map(parsePreference);
}

function parsePreference(text: string): Preference {
  const [name = "", ...parameters] = text.split(";").map((part) => part.trim().toLowerCase());
  const weight = parameters.find((part) => part.startsWith("q="))?.slice(2) ?? "1";
  return { name, quality: qvalue.test(weight) ? Number(weight) : 0 };
}

const qvalue = /^(?:0(?:\.[0-9]{0,3})?|1(?:\.0{0,3})?)$/;
