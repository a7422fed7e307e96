import { mayHoldSecret } from "../domain/key-secret.ts";
import { mask } from "./credentials.ts";

/** The longest path that is shown whole, in characters. The longest one of the API is a third of it. */
const maxLength = 200;

/**
 * A request's path as logs and traces may show it: of 200 characters at most, all of them printable ASCII, and without
 * API keys. `path` is as the client sent it, without its query.
 */
export function shownPath(path: string): string {
  // Before the rest, so that what is done costs the same for any path. What is left of a cut key is masked, too.
  const isLong = path.length > maxLength;
  const segments = path.slice(0, maxLength).split("/").map(shownSegment);
  return segments.join("/") + (isLong ? "..." : "");
}

function shownSegment(segment: string): string {
  return mayHoldSecret(decode(segment)) ? mask : segment.replaceAll(/[^!-~]/g, "?");
}

/** Undoes percent-encoding, however often it was done: a reader of the log could do so, too. */
function decode(text: string): string {
  const decoded = text.replaceAll(/%([0-9a-f]{2})/gi, (_encoded, hex) => String.fromCharCode(Number.parseInt(hex, 16)));
  return decoded === text ? text : decode(decoded);
}
