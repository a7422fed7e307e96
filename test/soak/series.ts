/** Values over time. */
export class Series {
  readonly #points: [hours: number, value: number][] = [];

  /** `atMs` is of any clock that all values of the series share. */
  add(atMs: number, value: number): void {
    this.#points.push([atMs / 3_600_000, value]);
  }

  get values(): readonly number[] {
    return this.#points.map(([, value]) => value);
  }

  /** The value in the middle. */
  get median(): number {
    return quantile(this.values, 0.5);
  }

  /** What has been added since then. */
  since(atMs: number): Series {
    const later = new Series();
    later.#points.push(...this.#points.filter(([hours]) => hours >= atMs / 3_600_000));
    return later;
  }

  /**
   * How much the values rise in an hour: the median of the slopes between all pairs, which outliers do not sway.
   *
   * Source: Sen, Estimates of the Regression Coefficient Based on Kendall's Tau, 1968
   */
  get slopePerHour(): number {
    const slopes = this.#points.flatMap(([start, from], index) =>
      this.#points.slice(index + 1).map(([end, to]) => (to - from) / (end - start)),
    );
    return quantile(slopes, 0.5);
  }
}

/** The value that this share of the values is not above. */
export function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}
