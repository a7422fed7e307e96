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
