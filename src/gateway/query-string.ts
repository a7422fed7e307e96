import { isPercentEncoded, percentDecode } from "./percent-encoding.ts";

/** One parameter of a query, as sent. */
export interface QueryParameter {
  readonly name: string;
  /** Empty when there is no `=`. */
  readonly value: string;
}

/**
 * Splits a query into its parameters, without decoding them. Source: URL Standard, application/x-www-form-urlencoded.
 */
export function splitQuery(query: string): QueryParameter[] {
  return query.split("&").map(splitParameter);
}

function splitParameter(text: string): QueryParameter {
  const equals = text.indexOf("=");
  return equals < 0 ? { name: text, value: "" } : { name: text.slice(0, equals), value: text.slice(equals + 1) };
}

/** Decodes a name or value, in which `+` stands for a space. Throws `ContentFault`. */
export function decodeQueryText(text: string): string {
  return percentDecode(text.replaceAll("+", " "));
}

/** Decodes a name; undefined when that cannot be done, as no field has such a name. */
export function decodeQueryName(text: string): string | undefined {
  return isPercentEncoded(text) ? decodeQueryText(text) : undefined;
}
