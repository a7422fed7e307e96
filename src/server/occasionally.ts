/** Makes a function that passes on what it is given, but not twice within so many milliseconds. */
export function occasionally<T>(ms: number, take: (value: T) => void): (value: T) => void {
  let lastMs = -Infinity;
  return (value) => {
    const nowMs = performance.now();
    if (nowMs - lastMs >= ms) {
      lastMs = nowMs;
      take(value);
    }
  };
}
