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

/** How often a failure is reported at most, in milliseconds: a lasting one would fill the log. */
const reportIntervalMs = 10_000;

/** Wraps `take` so that it is called at most once in ten seconds. Further values within that time are dropped. */
export function throttle<T>(take: (value: T) => void): (value: T) => void {
  let lastMs = -Infinity;
  return (value) => {
    const nowMs = performance.now();
    if (nowMs - lastMs >= reportIntervalMs) {
      lastMs = nowMs;
      take(value);
    }
  };
}

/** See `throttleAndCount`. */
interface CountingThrottle<T> {
  readonly take: (value: T) => void;
  /** Passes on at once what is held back. */
  readonly flush: () => void;
}

/**
 * Like `throttle`, but for each key, and without losing count. When the interval ends, it calls `pass` with the last
 * value held back and the number of the others. The timers keep no process alive.
 */
export function throttleAndCount<T>(
  keyOf: (value: T) => unknown,
  pass: (value: T, others: number) => void,
): CountingThrottle<T> {
  /** The keys of which a value was passed on less than an interval ago. */
  const intervals = new Map<unknown, Interval<T>>();

  function start(key: unknown, value: T, others: number): void {
    intervals.set(key, { timer: setTimeout(end, reportIntervalMs, key).unref(), held: undefined });
    pass(value, others);
  }

  function end(key: unknown): void {
    const held = intervals.get(key)?.held;
    intervals.delete(key);
    if (held !== undefined) {
      start(key, held.last, held.others);
    }
  }

  return {
    take(value) {
      const key = keyOf(value);
      const interval = intervals.get(key);
      if (interval === undefined) {
        start(key, value, 0);
      } else {
        interval.held = { last: value, others: interval.held === undefined ? 0 : interval.held.others + 1 };
      }
    },
    flush() {
      const ended = [...intervals.values()];
      intervals.clear();
      for (const { timer, held } of ended) {
        clearTimeout(timer);
        if (held !== undefined) {
          pass(held.last, held.others);
        }
      }
    },
  };
}

interface Interval<T> {
  readonly timer: NodeJS.Timeout;
  /** What has come since. */
  held: { readonly last: T; readonly others: number } | undefined;
}

/** Waits for work that goes on by itself. Rejects with the signal's reason as soon as the signal is aborted. */
export async function abortable<T>(start: () => Promise<T>, signal?: AbortSignal): Promise<T> {
  if (signal === undefined) {
    return start();
  }
  signal.throwIfAborted();
  const { promise: aborted, reject } = Promise.withResolvers<never>();
  const abort = () => reject(signal.reason);
  signal.addEventListener("abort", abort, { once: true });
  try {
    return await Promise.race([start(), aborted]);
  } finally {
    signal.removeEventListener("abort", abort);
  }
}
