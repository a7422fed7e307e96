/** What the client needs from outside: clock, timers, randomness. */
export interface Timing {
  /** Unix milliseconds. */
  now(): number;
  /** Milliseconds since some fixed moment, whatever the clock is set to. Default: `now` */
  elapsed?(): number;
  /**
   * Resolves after this time, in milliseconds, or after the longest that a timer takes. Rejects with the signal's
   * reason as soon as it aborts.
   */
  sleep(delayMs: number, signal: AbortSignal): Promise<void>;
  /** From 0 up to, but not including, 1. */
  random(): number;
}

/** The system's clock, timers and randomness. */
export const systemTiming: Timing = {
  now: Date.now,
  elapsed: () => performance.now(),
  sleep,
  random: Math.random,
};

/** The longest that timers of JavaScript take, in milliseconds: 24 days. A longer one would end after 1 ms. */
export const longestTimerMs = 2 ** 31 - 1;

/** How much time has passed, for the difference of two readings: in milliseconds, whatever the clock is set to. */
export function elapsedMs(timing: Timing): number {
  return timing.elapsed?.() ?? timing.now();
}

function sleep(delayMs: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    signal.throwIfAborted();
    const abort = () => {
      clearTimeout(timer);
      reject(signal.reason);
    };
    const timer = setTimeout(
      () => {
        signal.removeEventListener("abort", abort);
        resolve();
      },
      Math.min(delayMs, longestTimerMs),
    );
    signal.addEventListener("abort", abort, { once: true });
  });
}
