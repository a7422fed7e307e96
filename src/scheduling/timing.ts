/** Waits for a promise, but no longer than `ms`. Resolves to whether it was fulfilled in time; rejects as it does. */
export async function settlesWithin(ms: number, promise: Promise<unknown>): Promise<boolean> {
  const { promise: timeout, resolve } = Promise.withResolvers<boolean>();
  const timer = setTimeout(resolve, ms, false);
  try {
    return await Promise.race([promise.then(() => true), timeout]);
  } finally {
    clearTimeout(timer);
  }
}

/** How often a failure that repeats is logged at most, in milliseconds. */
export const failureReportMs = 10_000;

/** Wraps `take` so that it is called at most once in `ms` milliseconds. Further values within that time are dropped. */
export function throttle<T>(ms: number, take: (value: T) => void): (value: T) => void {
  let lastMs = -Infinity;
  return (value) => {
    const nowMs = performance.now();
    if (nowMs - lastMs >= ms) {
      lastMs = nowMs;
      take(value);
    }
  };
}

/**
 * Like `throttle`, but for each key, and without losing count. When the interval ends, it calls `take` with the last
 * value held back and the number of the others. The timers keep no process alive.
 */
export function throttleAndCount<T>(
  ms: number,
  keyOf: (value: T) => unknown,
  take: (value: T, others: number) => void,
): (value: T) => void {
  /** What came since a value of the key was passed on. */
  const waiting = new Map<unknown, { readonly last: T; readonly others: number } | undefined>();

  function pass(key: unknown, value: T, others: number): void {
    waiting.set(key, undefined);
    setTimeout(end, ms, key).unref();
    take(value, others);
  }

  function end(key: unknown): void {
    const ended = waiting.get(key);
    waiting.delete(key);
    if (ended !== undefined) {
      pass(key, ended.last, ended.others);
    }
  }

  return (value) => {
    const key = keyOf(value);
    if (waiting.has(key)) {
      const former = waiting.get(key);
      waiting.set(key, { last: value, others: former === undefined ? 0 : former.others + 1 });
    } else {
      pass(key, value, 0);
    }
  };
}
