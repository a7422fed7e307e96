/**
 * How far apart two samples lie, by the ranks of their values: some 0 when they are alike, and beyond 4 either way for
 * one in 16,000 of such. Positive when the first is the greater. Source: Mann and Whitney, 1947; ties are not
 * corrected.
 */
export function rankDistance(first: readonly number[], second: readonly number[]): number {
  const all = [
    ...first.map((value) => ({ value, isFirst: true })),
    ...second.map((value) => ({ value, isFirst: false })),
  ];
  all.sort((a, b) => a.value - b.value);
  const [n, m] = [first.length, second.length];
  const rankSum = all.reduce((sum, { isFirst }, index) => sum + (isFirst ? index + 1 : 0), 0);
  const u = rankSum - (n * (n + 1)) / 2;
  return (u - (n * m) / 2) / Math.sqrt((n * m * (n + m + 1)) / 12);
}
