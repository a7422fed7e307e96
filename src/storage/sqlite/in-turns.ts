/**
 * Does something for each of `count` items in order, with `atOnce` of them in each turn of the event loop; the first
 * ones right now. `work` must not throw.
 */
export function inTurns(count: number, atOnce: number, work: (index: number) => void, start = 0): void {
  const end = Math.min(start + atOnce, count);
  for (let index = start; index < end; index++) {
    work(index);
  }
  if (end < count) {
    setImmediate(inTurns, count, atOnce, work, end);
  }
}
