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
