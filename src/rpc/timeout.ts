import { ProtocolError } from "../http/protocol-error.ts";

/** The longest deadline that a client may set, in milliseconds: what Node's timers can hold, some 24 days. */
export const maxTimeoutMs = 2 ** 31 - 1;

/** A deadline as a header states it. */
interface ParsedTimeout {
  readonly timeoutMs?: number;
  readonly error?: unknown;
}

/** Throws `malformed` when the header was no deadline. */
export function assertTimeout(timeout: ParsedTimeout): void {
  if (timeout.error !== undefined) {
    throw new ProtocolError("malformed", "The timeout header is not valid. Send whole units, as its protocol says.");
  }
}
