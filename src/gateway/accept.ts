import { type Preference, parsePreferences } from "./quality.ts";

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
