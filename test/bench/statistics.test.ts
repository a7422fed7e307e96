import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { Latencies } from "../../bench/load/latencies.ts";
import { medianRound, unmeasured } from "../../bench/round.ts";
import { median, pairedRatio } from "../../bench/statistics.ts";

describe("the median", () => {
  it.each([
    { values: [], expected: NaN },
    { values: [3], expected: 3 },
    { values: [9, 1, 5], expected: 5 },
    { values: [4, 1, 3, 2], expected: 2.5 },
    { values: [10, 9, 100], expected: 10 },
  ])("of $values is $expected", ({ values, expected }) => {
    expect(median(values)).toBe(expected);
  });
});

describe("the ratio of two series", () => {
  it("is the median of the pairs' ratios, with the least and the greatest", () => {
    expect(pairedRatio([20, 30, 80], [10, 10, 20])).toEqual({ median: 3, least: 2, greatest: 4 });
  });

  it("does not change when a disturbance slows both numbers of a pair", () => {
    const series = fc.array(fc.tuple(fc.integer({ min: 1, max: 9999 }), fc.constantFrom(1, 0.5, 0.25)), {
      minLength: 1,
    });
    fc.assert(
      fc.property(series, (rounds) => {
        const theirs = rounds.map(([figure, speed]) => figure * speed);
        const ours = theirs.map((figure) => 2 * figure);
        expect(pairedRatio(ours, theirs)).toEqual({ median: 2, least: 2, greatest: 2 });
      }),
    );
  });

  it("is unknown without numbers", () => {
    expect(pairedRatio([], [])).toEqual({ median: NaN, least: NaN, greatest: NaN });
    expect(pairedRatio([1, 2], []).median).toBeNaN();
  });
});

describe("a round of medians", () => {
  it("has each figure's median, and the longest of the pauses", () => {
    const rounds = [1, 7, 3].map((figure) => ({ ...unmeasured, p99Us: figure, longestPauseMs: figure }));
    expect(medianRound(rounds)).toEqual({ ...unmeasured, p99Us: 3, longestPauseMs: 7 });
  });
});

describe("the percentile of latencies", () => {
  const latencies = new Latencies();
  for (let number = 100_000; number >= 1; number -= 1) {
    latencies.add(number);
  }

  it.each([
    { share: 0, expected: 1 },
    { share: 0.5, expected: 50_000 },
    { share: 0.99, expected: 99_000 },
    { share: 0.999, expected: 99_900 },
    { share: 1, expected: 100_000 },
  ])("$share is the least latency that so many do not exceed", ({ share, expected }) => {
    expect(latencies.percentile(share)).toBe(expected);
  });

  it("is 0 without latencies", () => {
    expect(new Latencies().percentile(0.5)).toBe(0);
  });
});
