/** What the client needs from outside: clock, timers, randomness. */
export interface Timing {
  /** Unix milliseconds. */
  now(): number;
  /** Resolves after this time, in milliseconds. Rejects with the signal's reason as soon as it aborts. */
  sleep(delayMs: number, signal: AbortSignal): Promise<void>;
  /** From 0 up to, but not including, 1. */
  random(): number;
}

/** The system's clock, timers and randomness. */
export const systemTiming: Timing = { now: Date.now, sleep, random: Math.random };

function sleep(delayMs: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    signal.throwIfAborted();
    const abort = () => {
      clearTimeout(timer);
      reject(signal.reason);
    };
    const timer = setTimeout(() => {
      signal.removeEventListener("abort", abort);
      resolve();
    }, delayMs);
    signal.addEventListener("abort", abort, { once: true });
  });
}
