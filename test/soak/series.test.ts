import { expect, it } from "vitest";
import { quantile, Series } from "./series.ts";

const minute = 60_000;

function seriesOf(values: readonly number[]): Series {
  const series = new Series();
  for (const [index, value] of values.entries()) {
    series.add(index * minute, value);
  }
  return series;
}

it.each<[values: number[], slope: number]>([
  [[5, 5, 5, 5], 0],
  [[0, 1, 2, 3, 4], 60],
  [[4, 3, 2], -60],
  [[0, 1, 900, 3, 4, 5, 6], 60],
])("the slope of %j is %i an hour", (values, slope) => {
  expect(seriesOf(values).slopePerHour).toBeCloseTo(slope);
});

it("the slope since a time leaves out what was before", () => {
  expect(seriesOf([900, 500, 1, 2, 3]).since(2 * minute).slopePerHour).toBeCloseTo(60);
});

it.each([
  [0.5, 6],
  [0.99, 10],
  [0, 1],
])("quantile %d of 1 to 10 is %i", (share, value) => {
  expect(quantile([10, 1, 2, 9, 3, 8, 4, 7, 5, 6], share)).toBe(value);
});
