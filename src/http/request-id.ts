import { randomBytes } from "node:crypto";

/** The header by which callers name a request, and by which its answer tells that name. */
export const requestIdHeader = "x-request-id";

/** What can stand in a log and in a header as it is, and is no longer than any id that proxies make. */
const wellFormed = /^[A-Za-z0-9._-]{1,128}$/;

/** Tells the ids of this process from those of others. */
const prefix = `${randomBytes(9).toString("base64url").replaceAll("_", ".")}-`;

let made = 0;

/** Makes an id: random for the process, and counted within it, which costs a twentieth of a random one. */
export function makeRequestId(): string {
  made += 1;
  return prefix + made.toString(36);
}

/**
 * The id of a request, by the lines of its header: the caller's own where there is exactly one, of 1 to 128 letters,
 * digits, `.`, `_` and `-`; else a new one.
 */
export function requestIdOf(lines: readonly string[]): string {
  const [line] = lines;
  return lines.length === 1 && wellFormed.test(line as string) ? (line as string) : makeRequestId();
}
