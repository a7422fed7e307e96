import { describe, expect, it } from "vitest";
import { isNumber, parseInteger } from "../../src/exact-json/number.ts";

describe("a number of JSON", () => {
  it.each(["0", "-0", "10", "1.5", "1e5", "1E-5", "-1.0e+05"])("may be written %s", (text) => {
    expect(isNumber(text)).toBe(true);
  });

  it.each(["", "-", "+1", "01", "-01", ".5", "5.", "1e", "0x1", " 1", "1 ", "NaN", "1_000", "١"])(
    "is not '%s', which is no integer either",
    (text) => {
      expect(isNumber(text)).toBe(false);
      expect(parseInteger(text)).toBeUndefined();
    },
  );

  it.each([
    ["-0.0", 0n],
    ["-30e-1", -3n],
    ["99999999999999999999", 99999999999999999999n],
    ["100000000000000000000", undefined],
    ["-1e400", undefined],
    ["3.5", undefined],
  ])("%s stands for the integer %s", (source, expected) => {
    expect(parseInteger(source)).toBe(expected);
  });
});
