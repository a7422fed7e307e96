interface Range {
  readonly type: string;
  /** From 0, not acceptable, to 1. */
  readonly quality: number;
}

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
  const ranges = accept.split(",").map(parseRange);
  const ndjson = qualityOf(ranges, ["application/x-ndjson"]);
  return ndjson > 0 && ndjson >= qualityOf(ranges, ["application/json", "application/*", "*/*"]);
}

/** The quality of the first of these types that is there at all, the most specific one; 0 when none is. */
function qualityOf(ranges: readonly Range[], types: readonly string[]): number {
  const found = types.map((type) => ranges.find((range) => range.type === type)).find((range) => range !== undefined);
  return found?.quality ?? 0;
}

function parseRange(text: string): Range {
  const [type = "", ...parameters] = text.split(";").map((part) => part.trim().toLowerCase());
  const weight = parameters.find((part) => part.startsWith("q="))?.slice(2) ?? "1";
  return { type, quality: qvalue.test(weight) ? Number(weight) : 0 };
}

const qvalue = /^(?:0(?:\.[0-9]{0,3})?|1(?:\.0{0,3})?)$/;
