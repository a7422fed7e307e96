import { mayHoldSecret } from "./key.ts";

/** What is shown in place of a secret. */
export const mask = "********";

/** The text between `//` and `@`. The `file:` URLs of stack traces are left out: they have no name and no password. */
const credentials = /(?<=\/\/)(?<!file:\/+).*@/g;

/** The same in the URL of a store that lacks its slashes: `postgres:me:secret@host`. */
const credentialsWithoutSlashes = /(?<=\b(?:postgres(?:ql)?|rediss?|valkeys?):\/?)(?!\/).*@/gi;

/** The values of parameters such as `password` and `sslpassword`, however their names are encoded. */
const parameters = /(?<=[?&][^=&\s]*(?:password|%)[^=&\s]*=)[^&#\s'"]*/gi;

/** A text in which the names and passwords of URLs are masked, whether or not the URLs are well-formed. */
export function maskCredentials(text: string): string {
  return text
    .replaceAll(credentials, `${mask}@`)
    .replaceAll(credentialsWithoutSlashes, `${mask}@`)
    .replaceAll(parameters, mask);
}

/** Control characters, format characters and line separators: a terminal obeys them, and does not show them. */
export const invisible = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;

/** The longest path that is shown whole, in characters. The longest path of the API is a third of it. */
const maxPathLength = 200;

/**
 * A request's path as logs and traces may show it: at most 200 characters, all of them printable ASCII, without API keys.
 * `path` is as the client sent it, without its query.
 */
export function shownPath(path: string): string {
  // The path is cut first, so that any path costs the same. The part of a key that the cut leaves is masked, too.
  const isLong = path.length > maxPathLength;
  const segments = path.slice(0, maxPathLength).split("/").map(shownSegment);
  return segments.join("/") + (isLong ? "..." : "");
}

function shownSegment(segment: string): string {
  return mayHoldSecret(decode(segment)) ? mask : segment.replaceAll(/[^!-~]/g, "?");
}

/** Decodes percent-encoding as often as it was applied: a reader of the log could do so, too. */
function decode(text: string): string {
  const decoded = text.replaceAll(/%([0-9a-f]{2})/gi, (_encoded, hex) => String.fromCharCode(Number.parseInt(hex, 16)));
  return decoded === text ? text : decode(decoded);
}
