import { randomBytes } from "node:crypto";

/** The header with the id of a request, in requests and answers. */
export const requestIdHeader = "x-request-id";

/** An id that logs and headers can show unescaped. The ids of proxies are no longer. */
const wellFormed = /^[A-Za-z0-9._-]{1,128}$/;

/** Distinguishes the ids of this process from those of others. */
const prefix = `${randomBytes(9).toString("base64url").replaceAll("_", ".")}-`;

let made = 0;

/** Makes an id: a random prefix for the process, and a counter. It costs a twentieth of a random id. */
export function makeRequestId(): string {
  made += 1;
  return prefix + made.toString(36);
}

/** Reads the id of a request from its header. Repeated ones are joined by `, `. */
export type RequestIdReader = (header: string | undefined) => string;

/**
 * Makes a reader that takes the caller's id if there is exactly one, of 1 to 128 letters, digits, `.`, `_` and `-`.
 * Otherwise it makes a new id. It also makes one if `isSecret` says that the id is a secret, because ids are logged.
 */
export function createRequestIdReader(isSecret: (id: string) => boolean): RequestIdReader {
  return (header) => (header !== undefined && wellFormed.test(header) && !isSecret(header) ? header : makeRequestId());
}
