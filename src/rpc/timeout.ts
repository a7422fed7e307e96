import { ProtocolError } from "../http/protocol-error.ts";

/** The longest deadline that is kept, in milliseconds: what Node's timers can hold, some 24 days. */
const maxTimeoutMs = 2 ** 31 - 1;

/** Reads a deadline as a protocol writes it, up to a limit in milliseconds. */
type ParseTimeout = (value: string | null, maxMs: number) => { readonly timeoutMs?: number; readonly error?: unknown };

/** A deadline as a header states it. */
export interface Timeout {
  /** Undefined for none, and where the header is no deadline. A longer one than can be kept is cut. */
  readonly timeoutMs: number | undefined;
  /** Throws `malformed` when the header is no deadline. */
  readonly assertValid: () => void;
}

/** Reads a header that states a deadline, by the parser of its protocol. */
export function readTimeout(value: string | undefined, parse: ParseTimeout): Timeout {
  const { timeoutMs, error } = parse(value ?? null, Number.MAX_SAFE_INTEGER);
  return {
    timeoutMs: timeoutMs && Math.min(timeoutMs, maxTimeoutMs),
    assertValid() {
      if (error !== undefined) {
        throw new ProtocolError(
          "malformed",
          "The timeout header is not valid. Send whole units, as its protocol says.",
        );
      }
    },
  };
}
