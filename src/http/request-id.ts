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

/** Tells the id of a request by the lines of its header. */
export type RequestIdReader = (lines: readonly string[]) => string;

/**
 * Makes a reader that takes the caller's own id where there is exactly one, of 1 to 128 letters, digits, `.`, `_` and
 * `-`; else it makes a new one. So it does with what `isSecret` holds for a secret, since ids are logged.
 */
export function createRequestIdReader(isSecret: (id: string) => boolean): RequestIdReader {
  return (lines) => {
    const [line = ""] = lines;
    return lines.length === 1 && wellFormed.test(line) && !isSecret(line) ? line : makeRequestId();
  };
}
