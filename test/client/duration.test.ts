import { create, toJson } from "@bufbuild/protobuf";
import { DurationSchema } from "@bufbuild/protobuf/wkt";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { toDuration } from "../../client/src/index.ts";

describe("toDuration", () => {
  it.each([
    [0, 0n, 0],
    [-0, 0n, 0],
    [1, 0n, 1_000_000],
    [900_000, 900n, 0],
    [1_500.25, 1n, 500_250_000],
    [999.999_999_9, 1n, 0],
    [1e-9, 0n, 0],
    [-1e-9, 0n, 0],
    [-1, 0n, -1_000_000],
    [-1_500.25, -1n, -500_250_000],
    [-999.999_999_9, -1n, 0],
    [315_576_000_000_000, 315_576_000_000n, 0],
    [-315_576_000_000_000, -315_576_000_000n, 0],
  ])("makes of %d ms %d s and %d ns", (ms, seconds, nanos) => {
    expect(toDuration(ms)).toEqual({ seconds, nanos });
  });

  it.each([Number.NaN, Infinity, -Infinity, 315_576_000_000_001, -315_576_000_000_001, undefined])(
    "refuses %s",
    (ms) => {
      expect(() => toDuration(ms as number)).toThrow(
        new RangeError(
          `toDuration: give a number of milliseconds from -315576000000000 to 315576000000000, not ${ms}.`,
        ),
      );
    },
  );

  // ProtoJSON has no form for an invalid one.
  it("makes a valid duration of every number in between", () => {
    fc.assert(
      fc.property(fc.double({ min: -315_576_000_000_000, max: 315_576_000_000_000, noNaN: true }), (ms) => {
        const { seconds = 0n, nanos = 0 } = toDuration(ms);
        expect(toJson(DurationSchema, create(DurationSchema, { seconds, nanos }))).toMatch(/^-?\d+(\.\d{3,9})?s$/);
        expect(Math.abs(nanos)).toBeLessThan(1_000_000_000);
        expect(Number(seconds) * nanos).toBeGreaterThanOrEqual(0);
      }),
    );
  });
});
