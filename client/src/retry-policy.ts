/** When a failed call is tried again, and for how long. */
export interface RetryPolicy {
  /** The most attempts at a call, the first one included; 1 switches retries off. Default: 6 */
  readonly maxAttempts: number;
  /** The longest back-off before the first retry; it doubles with each further one. Default: 200 ms */
  readonly initialDelayMs: number;
  /** The longest wait before one attempt. What asks for a longer one, as most bans do, fails at once. Default: 60 s */
  readonly maxDelayMs: number;
  /** The longest that a call waits for all of its attempts together. Default: 2 minutes */
  readonly maxTotalDelayMs: number;
}

/**
 * Enough to outlive a restart of the service, which takes less than the 3.1 s that are waited at least; and to wait for
 * a minute's window; not for a day's, nor for a ban.
 */
export const defaultRetryPolicy: RetryPolicy = {
  maxAttempts: 6,
  initialDelayMs: 200,
  maxDelayMs: 60_000,
  maxTotalDelayMs: 120_000,
};
