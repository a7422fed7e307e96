import { ContentFault } from "../proto-json/content-fault.ts";

/**
 * Decodes percent-encoded UTF-8. Throws `ContentFault` for an incomplete escape, for invalid UTF-8, and for characters
 * beyond ASCII, which a URI cannot hold.
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

/** As `percentDecode`, but encoded slashes stay encoded, so that they differ from the slashes between segments. */
export function percentDecodeSegments(text: string): string {
  return text
    .split(encodedSlash)
    .map((part) => (encodedSlash.test(part) ? part : percentDecode(part)))
    .join("");
}

/** Whether `percentDecode` accepts the text. This is faster than an error for each text that it does not accept. */
function isPercentEncoded(text: string): boolean {
  return plain.test(text) || encodedText.test(text);
}

const plain = /^[!-$&-~]*$/;
const ascii = /^[\0-\x7f]*$/;
const encodedSlash = /(%2[Ff])/;

/**
 *     text      = *character
 *     character = unescaped | one | two | three | four
 *
 * `one` to `four` are UTF-8 sequences of that length with each byte escaped. Each alternative begins differently, so
 * matching takes linear time.
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

/** One parameter of a query, as sent. */
interface QueryParameter {
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

/** Decodes a name or value, where `+` means a space. Throws `ContentFault`. */
export function decodeQueryText(text: string): string {
  return percentDecode(text.replaceAll("+", " "));
}

/** Decodes a name. Undefined if it is malformed, because no field has such a name. */
export function decodeQueryName(text: string): string | undefined {
  return isPercentEncoded(text) ? decodeQueryText(text) : undefined;
}
