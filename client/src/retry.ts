import type { Interceptor, UnaryRequest } from "@connectrpc/connect";
import { isRetriable, nextDelayMs } from "./retry-decision.ts";
import { createRetryPolicy, type RetryOverrides, type RetryPolicy } from "./retry-policy.ts";
import { setTimeoutOf, timeoutOf } from "./timeout.ts";
import { elapsedMs, systemTiming, type Timing } from "./timing.ts";

/**
 * Retries a failed unary call where that is safe and the policy allows it. The caller sees the error of the last
 * attempt. No wait outlasts the call's deadline or its signal: a call that cannot be retried in time fails at once.
 * Throws a `TypeError` for a wrong number in the overrides.
 */
export function createRetryInterceptor(overrides: RetryOverrides = {}, timing: Timing = systemTiming): Interceptor {
  const policy = createRetryPolicy(overrides);
  return (next) => async (request) => {
    if (request.stream) {
      return next(request);
    }
    const retries = new Retries(request, policy, timing);
    for (;;) {
      try {
        return await next(request);
      } catch (error) {
        await retries.waitAfter(error);
      }
    }
  };
}

/** The retries of one call. */
class Retries {
  readonly #request: UnaryRequest;
  readonly #policy: RetryPolicy;
  readonly #timing: Timing;
  /** The `elapsedMs` by which the call must be done. */
  readonly #deadlineMs: number;
  #attempt = 1;
  #totalDelayMs = 0;

  constructor(request: UnaryRequest, policy: RetryPolicy, timing: Timing) {
    this.#request = request;
    this.#policy = policy;
    this.#timing = timing;
    this.#deadlineMs = elapsedMs(timing) + (timeoutOf(request.header) ?? Number.POSITIVE_INFINITY);
  }

  /** Resolves when it is time to retry. Throws the error when there is no retry. */
  async waitAfter(error: unknown): Promise<void> {
    const delayMs = this.#delayAfter(error);
    if (delayMs === undefined) {
      throw error;
    }
    await this.#timing.sleep(delayMs, this.#request.signal);
    this.#attempt++;
    this.#totalDelayMs += delayMs;
    setTimeoutOf(this.#request.header, this.#leftMs());
  }

  #delayAfter(error: unknown): number | undefined {
    if (this.#request.signal.aborted || !isRetriable(error, this.#request)) {
      return undefined;
    }
    const failed = { error, attempt: this.#attempt, now: this.#timing.now(), random: this.#timing.random() };
    const delayMs = nextDelayMs(this.#policy, failed) ?? Number.POSITIVE_INFINITY;
    const isInTime = this.#totalDelayMs + delayMs <= this.#policy.maxTotalDelayMs && delayMs < this.#leftMs();
    return isInTime ? delayMs : undefined;
  }

  /** What is left of the call's time, in milliseconds. */
  #leftMs(): number {
    return this.#deadlineMs - elapsedMs(this.#timing);
  }
}
