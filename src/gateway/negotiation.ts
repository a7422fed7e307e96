/**
 * Whether a request asks for newline-delimited JSON: its `Accept` names `application/x-ndjson`, with a quality above 0
 * and no lower than that of `application/json`. Wildcards alone do not ask for it.
 *
 * Source: RFC 9110, 12.5.1
 */
export function acceptsNdjson(accept: string | undefined): boolean {
  if (accept === undefined || !accept.toLowerCase().includes("application/x-ndjson")) {
    return false;
  }
  const ranges = parsePreferences(accept);
  const ndjson = qualityOf(ranges, ["application/x-ndjson"]);
  return ndjson > 0 && ndjson >= qualityOf(ranges, ["application/json", "application/*", "*/*"]);
}

/** The quality of the first of these types that is there at all, the most specific one; 0 when none is. */
function qualityOf(ranges: readonly Preference[], types: readonly string[]): number {
  const found = types.map((type) => ranges.find(({ name }) => name === type)).find((range) => range !== undefined);
  return found?.quality ?? 0;
}

/** The content codings that answers can have, the best first. */
export const contentCodings = ["br", "gzip"] as const;

export type ContentCoding = (typeof contentCodings)[number];

/**
 * The content coding that a request asks for: the one of the highest quality, of equals the best. Undefined for none,
 * which is also what those get who ask for nothing, or refuse all that there is.
 *
 * Source: RFC 9110, 12.5.3
 */
export function chooseCoding(acceptEncoding: string | undefined): ContentCoding | undefined {
  if (acceptEncoding === undefined || acceptEncoding === "") {
    return undefined;
  }
  const qualities = new Map(parsePreferences(acceptEncoding).map(({ name, quality }) => [name, quality]));
  const others = qualities.get("*") ?? 0;
  // What is not named is still taken as it is, but gladly only where nothing else is.
  let best = qualities.get("identity") ?? 0;
  let chosen: ContentCoding | undefined;
  for (const coding of contentCodings) {
    const quality = qualities.get(coding) ?? qualities.get(`x-${coding}`) ?? others;
    if (quality > best || (quality === best && quality > 0 && chosen === undefined)) {
      best = quality;
      chosen = coding;
    }
  }
  return chosen;
}

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
