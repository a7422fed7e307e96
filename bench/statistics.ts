/** The middle number; for an even count, the mean of the two in the middle. NaN for none. */
export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = (sorted.length - 1) / 2;
  return ((sorted[Math.floor(middle)] ?? NaN) + (sorted[Math.ceil(middle)] ?? NaN)) / 2;
}

/** Some ratios' median, and the least and the greatest of them. */
export interface Ratio {
  readonly median: number;
  readonly least: number;
  readonly greatest: number;
}

/**
 * The ratios of two series whose numbers form pairs, such as two contenders' figures in each round. A disturbance that
 * affects both numbers of a pair leaves their ratio as it is. NaN for empty series.
 */
export function pairedRatio(numerators: readonly number[], denominators: readonly number[]): Ratio {
  const ratios = numerators.map((numerator, index) => numerator / (denominators[index] ?? NaN));
  const isKnown = ratios.length > 0;
  return {
    median: median(ratios),
    least: isKnown ? Math.min(...ratios) : NaN,
    greatest: isKnown ? Math.max(...ratios) : NaN,
  };
}
