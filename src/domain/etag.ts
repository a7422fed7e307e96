import { type DomainError, invalidRequest } from "./errors.ts";

/** A version as a strong entity tag. Source: RFC 9110, 8.8.3 */
export function toEtag(version: string): string {
  return `"${version}"`;
}

/** The version in a strong entity tag. */
export function fromEtag(etag: string): string {
  return etag.slice(1, -1);
}

/** One entity tag, and what follows it: the end, or a comma. */
const element = /[ \t]*(?:(W\/)?"([\x21\x23-\x7e\x80-\u{10ffff}]*)"[ \t]*)?(?:,|$)/uy;

/** The most characters of an `If-Match`, over RPC too: as many as a request's headers may have. */
const maxIfMatchLength = 16_384;

/**
 * The versions that the strong tags of an `If-Match` name; undefined for `*`, which any version matches. Weak tags match
 * none. Throws `INVALID_REQUEST`, which names the field of requests that has the tags. Source: RFC 9110, 13.1.1
 */
export function parseIfMatch(value: string): readonly string[] | undefined {
  if (value.length > maxIfMatchLength) {
    throw unreadable(`at most ${maxIfMatchLength} characters long`);
  }
  if (/^[ \t]*\*[ \t]*$/.test(value)) {
    return undefined;
  }
  const versions: string[] = [];
  let count = 0;
  element.lastIndex = 0;
  while (element.lastIndex < value.length) {
    const match = element.exec(value);
    if (match === null) {
      throw unreadable();
    }
    const [, weak, version] = match;
    count += version === undefined ? 0 : 1;
    if (version !== undefined && weak === undefined) {
      versions.push(version);
    }
  }
  if (count === 0) {
    throw unreadable();
  }
  return versions;
}

function unreadable(expected = "entity tags in quotes, separated by commas, or *"): DomainError {
  const description = `must be ${expected}`;
  return invalidRequest(`etag: ${description}.`, [{ field: "etag", description }]);
}
