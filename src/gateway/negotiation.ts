/**
 * Whether a request prefers newline-delimited JSON: `Accept` names `application/x-ndjson` with a quality above 0 that
 * is no lower than that of `application/json`. Wildcards do not count.
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

/** The quality of the first of these types that is listed; 0 when none is. The most specific one comes first. */
function qualityOf(ranges: readonly Preference[], types: readonly string[]): number {
  const found = types.map((type) => ranges.find(({ name }) => name === type)).find((range) => range !== undefined);
  return found?.quality ?? 0;
}

/** The content codings that answers can have, the best first. */
export const contentCodings = ["br", "gzip"] as const;

export type ContentCoding = (typeof contentCodings)[number];

/**
 * The content coding with the highest quality in `Accept-Encoding`, of equals the best. Undefined where the body is
 * sent as it is.
 *
 * Source: RFC 9110, 12.5.3
 */
export function chooseCoding(acceptEncoding: string | undefined): ContentCoding | undefined {
  if (acceptEncoding === undefined || acceptEncoding === "") {
    return undefined;
  }
  const qualities = new Map(parsePreferences(acceptEncoding).map(({ name, quality }) => [name, quality]));
  const others = qualities.get("*") ?? 0;
  // Unless it is refused, `identity` is always acceptable; it is preferred only where it is named.
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

/** One item of a header such as `Accept` or `Accept-Encoding`. */
export interface Preference {
  /** In lower case, without its parameters. */
  readonly name: string;
  /** From 0, not acceptable, to 1. */
  readonly quality: number;
}

/**
 * Reads a list of items with their weights. An item with a malformed weight is not acceptable.
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
