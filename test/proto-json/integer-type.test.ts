import { ScalarType } from "@bufbuild/protobuf";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type IntegerType, integerFromJsonNumber, integerTypeOf } from "../../src/proto-json/scalar.ts";

const int64 = integerTypeOf(ScalarType.INT64) as IntegerType;
const uint64 = integerTypeOf(ScalarType.UINT64) as IntegerType;

describe("a number of JSON", () => {
  function check(source: string, expected: bigint | undefined, type = int64): void {
    expect(integerFromJsonNumber(source, type), source).toBe(expected);
  }

  it("is an integer by its value, however it is written", () => {
    for (const source of [
      "3",
      "3.0",
      "3e0",
      "30e-1",
      "0.3e1",
      "3E+0",
      "3000000e-6",
      "0.003e3",
      "3.000000000000000000000",
    ]) {
      check(source, 3n);
    }
    for (const source of ["0", "-0", "0.0", "-0.0e5", "0e999999999", "0e-999999999"]) {
      check(source, 0n);
    }
  });

  it("is judged exactly to the ends of the type", () => {
    check("9223372036854775807", 9223372036854775807n);
    check("9.223372036854775807e18", 9223372036854775807n);
    check("-9223372036854775808", -9223372036854775808n);
    check("9223372036854775808", undefined);
    check("-9223372036854775809", undefined);
    check("18446744073709551615", 18446744073709551615n, uint64);
    check("18446744073709551616", undefined, uint64);
    check("-1", undefined, uint64);
  });

  it("is no integer when anything is left after the point", () => {
    check("3.5", undefined);
    check("3.00000000000000000001", undefined);
    check("9007199254740993.5", undefined);
    check("1e-1", undefined);
    check("1e-999999999", undefined);
  });

  it("is refused as quickly when it is enormous", () => {
    const startedAtMs = performance.now();
    for (const source of ["1e400", "1e999999999", `1e${"9".repeat(1_000_000)}`, "9".repeat(1_000_000)]) {
      check(source, undefined);
    }
    check(`${"0".repeat(0)}1${"0".repeat(500_000)}e-500000`, 1n);
    expect(performance.now() - startedAtMs).toBeLessThan(1_000);
  });
});

/** The exact value by rational arithmetic: numerator over a power of ten. */
function oracle(int: string, fraction: string, exponent: number): bigint | undefined {
  const scale = fraction.length - exponent;
  const digits = BigInt(int + fraction);
  if (scale <= 0) {
    return digits * 10n ** BigInt(-scale);
  }
  const divisor = 10n ** BigInt(scale);
  return digits % divisor === 0n ? digits / divisor : undefined;
}

it("agrees with exact arithmetic", () => {
  const digits = fc.stringMatching(/^[0-9]{1,22}$/);
  const roundDigits = fc.tuple(digits, fc.nat(30)).map(([text, zeros]) => text + "0".repeat(zeros));
  const parts = fc.record({
    isNegative: fc.boolean(),
    int: fc.oneof(digits, roundDigits).map((text) => text.replace(/^0+(?=.)/, "")),
    fraction: fc.oneof(fc.constant(""), digits, roundDigits),
    exponent: fc.integer({ min: -60, max: 60 }),
  });
  fc.assert(
    fc.property(parts, fc.constantFrom(int64, uint64), ({ isNegative, int, fraction, exponent }, type) => {
      const source = `${isNegative ? "-" : ""}${int}${fraction === "" ? "" : `.${fraction}`}e${exponent}`;
      const magnitude = oracle(int, fraction, exponent);
      const value = magnitude === undefined ? undefined : isNegative ? -magnitude : magnitude;
      const isInRange = value !== undefined && value >= type.min && value <= type.max;
      expect(integerFromJsonNumber(source, type)).toBe(isInRange ? value : undefined);
    }),
    { numRuns: 5_000 },
  );
});
