import { ProtocolError } from "../http/protocol-error.ts";

/** The longest deadline, in milliseconds: the most that Node's timers hold, some 24 days. */
const maxTimeoutMs = 2 ** 31 - 1;

/** A protocol's parser of deadlines. `maxMs` is the longest that it takes. */
type ParseTimeout = (value: string, maxMs: number) => { readonly timeoutMs?: number; readonly error?: unknown };

/** The deadline in a header. */
export interface Timeout {
  /** Undefined where there is none, or the header is malformed. A deadline that is too long is cut. */
  readonly timeoutMs: number | undefined;
  /** Throws `malformed` where the header is malformed. */
  readonly assertValid: () => void;
}

const noTimeout: Timeout = { timeoutMs: undefined, assertValid() {} };

/** Reads the deadline in a header. */
export function readTimeout(value: string | undefined, parse: ParseTimeout): Timeout {
  if (value === undefined) {
    return noTimeout;
  }
  const { timeoutMs, error } = parse(value, Number.MAX_SAFE_INTEGER);
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
