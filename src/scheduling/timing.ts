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
 * As `throttle`, but loses no count: when the time is over, it calls `take` with the last of the values that came
 * meanwhile, and the number of the others. The timer keeps no process alive.
 */
export function throttleAndCount<T>(ms: number, take: (value: T, others: number) => void): (value: T) => void {
  let waiting: { readonly last: T; readonly others: number } | undefined;
  let isOpen = true;

  function pass(value: T, others: number): void {
    isOpen = false;
    setTimeout(end, ms).unref();
    take(value, others);
  }

  function end(): void {
    const ended = waiting;
    [waiting, isOpen] = [undefined, true];
    if (ended !== undefined) {
      pass(ended.last, ended.others);
    }
  }

  return (value) => {
    if (isOpen) {
      pass(value, 0);
    } else {
      waiting = { last: value, others: waiting === undefined ? 0 : waiting.others + 1 };
    }
  };
}
