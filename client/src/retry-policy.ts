/** When a failed call is retried, and for how long. */
export interface RetryPolicy {
  /** The most attempts at a call, the first one included; 1 switches retries off. Default: 6 */
  readonly maxAttempts: number;
  /** The longest back-off before the first retry; it doubles with each further one. Default: 200 ms */
  readonly initialDelayMs: number;
  /**
   * The longest wait before one attempt. A call that needs a longer one, as in most bans, fails at once. Default: 60 s
   */
  readonly maxDelayMs: number;
  /** The longest total wait for all attempts of a call. Default: 2 minutes */
  readonly maxTotalDelayMs: number;
}

/**
 * Enough to outlast a restart of the service, which takes less than the minimum total wait of 3.1 s, and to wait for
 * the minute's window; not enough for the day's window or a ban.
 */
export const defaultRetryPolicy: RetryPolicy = {
  maxAttempts: 6,
  initialDelayMs: 200,
  maxDelayMs: 60_000,
  maxTotalDelayMs: 120_000,
};

/** Numbers that replace those of `defaultRetryPolicy`. Undefined ones do not. */
export type RetryOverrides = { readonly [Name in keyof RetryPolicy]?: RetryPolicy[Name] | undefined };

/** The default policy with these overrides. Throws a `TypeError` for a negative number, and for what is no number. */
export function createRetryPolicy(overrides: RetryOverrides = {}): RetryPolicy {
  const {
    maxAttempts = defaultRetryPolicy.maxAttempts,
    initialDelayMs = defaultRetryPolicy.initialDelayMs,
    maxDelayMs = defaultRetryPolicy.maxDelayMs,
    maxTotalDelayMs = defaultRetryPolicy.maxTotalDelayMs,
  } = overrides;
  const policy: RetryPolicy = { maxAttempts, initialDelayMs, maxDelayMs, maxTotalDelayMs };
  for (const [name, value] of Object.entries(policy)) {
    if (typeof value !== "number" || !(value >= 0)) {
      throw new TypeError(`retry.${name}: give a number of 0 or more.`);
    }
  }
  return policy;
}
