import { mayHoldSecret } from "../domain/key-secret.ts";
import { mask } from "../domain/masking.ts";

/** The longest path that is shown whole, in characters. The longest path of the API is a third of it. */
const maxLength = 200;

/**
 * A request's path as logs and traces may show it: at most 200 characters, all of them printable ASCII, without API keys.
 * `path` is as the client sent it, without its query.
 */
export function shownPath(path: string): string {
  // The path is cut first, so that any path costs the same. The rest of a key that is cut is masked, too.
  const isLong = path.length > maxLength;
  const segments = path.slice(0, maxLength).split("/").map(shownSegment);
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
