import { ContentFault } from "../content-fault.ts";

/**
 *     text      = *character
 *     character = unescaped | one | two | three | four
 *
 * The last four are the sequences of UTF-8 by their length, each byte of them escaped. Each character begins in one way
 * only, so that a text is looked over once.
 *
 * Source: RFC 3986, 2.1; RFC 3629, 4.
 */
const tail = "%[89AB][0-9A-F]";
const unescaped = "[\\0-$&-\\x7f]";
const one = "%[0-7][0-9A-F]";
const two = `%(?:C[2-9A-F]|D[0-9A-F])${tail}`;
const three = `%(?:E0%[AB][0-9A-F]|E[1-9A-CEF]${tail}|ED%[89][0-9A-F])${tail}`;
const four = `%(?:F0%[9AB][0-9A-F]|F[1-3]${tail}|F4%8[0-9A-F])${tail}${tail}`;
const encodedText = new RegExp(`^(?:${[unescaped, one, two, three, four].join("|")})*$`, "i");

/** Whether `percentDecode` decodes the text. An error for each of many texts would take long. */
export function isPercentEncoded(text: string): boolean {
  return plain.test(text) || encodedText.test(text);
}

/**
 * Decodes percent-encoded UTF-8 strictly. Throws `ContentFault` for an incomplete escape, for what is not UTF-8, and
 * for characters beyond ASCII, which a URI cannot hold.
 *
 * Source: RFC 3986, 2.1.
 */
export function percentDecode(text: string): string {
  if (plain.test(text)) {
    return text;
  }
  if (!ascii.test(text)) {
    throw new ContentFault("must have characters beyond ASCII percent-encoded");
  }
  if (!encodedText.test(text)) {
    throw new ContentFault("must be percent-encoded UTF-8");
  }
  return decodeURIComponent(text);
}

/** As `percentDecode`, but leaves encoded slashes encoded, so that they can be told from those between segments. */
export function percentDecodeSegments(text: string): string {
  return text
    .split(encodedSlash)
    .map((part) => (encodedSlash.test(part) ? part : percentDecode(part)))
    .join("");
}

const plain = /^[!-$&-~]*$/;
const ascii = /^[\0-\x7f]*$/;
const encodedSlash = /(%2[Ff])/;

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
