import { ContentFault } from "./content-fault.ts";

/**
 * Decodes percent-encoded UTF-8 strictly. Throws `ContentFault` for an incomplete escape, for what is not UTF-8, and
 * for characters beyond ASCII, which a URI cannot hold.
 *
 * Source: RFC 3986, 2.1.
 */
export function percentDecode(text: string): string {
  if (unescaped.test(text)) {
    return text;
  }
  if (!ascii.test(text)) {
    throw new ContentFault("must have characters beyond ASCII percent-encoded");
  }
  try {
    return decodeURIComponent(text);
  } catch {
    throw new ContentFault("must be percent-encoded UTF-8");
  }
}

/** As `percentDecode`, but leaves encoded slashes encoded, so that they can be told from those between segments. */
export function percentDecodeSegments(text: string): string {
  return text
    .split(encodedSlash)
    .map((part) => (encodedSlash.test(part) ? part : percentDecode(part)))
    .join("");
}

const unescaped = /^[!-$&-~]*$/;
const ascii = /^[\0-\x7f]*$/;
const encodedSlash = /(%2[Ff])/;
