import { ScalarType } from "@bufbuild/protobuf";
import { parseInteger } from "../../exact-json/number.ts";

/** The bounds of an integer type, both inclusive. */
export interface IntegerType {
  readonly bits: 32 | 64;
  readonly min: bigint;
  readonly max: bigint;
}

const int32: IntegerType = { bits: 32, min: -(2n ** 31n), max: 2n ** 31n - 1n };
const uint32: IntegerType = { bits: 32, min: 0n, max: 2n ** 32n - 1n };
const int64: IntegerType = { bits: 64, min: -(2n ** 63n), max: 2n ** 63n - 1n };
const uint64: IntegerType = { bits: 64, min: 0n, max: 2n ** 64n - 1n };

const integerTypes: Partial<Record<ScalarType, IntegerType>> = {
  [ScalarType.INT32]: int32,
  [ScalarType.SINT32]: int32,
  [ScalarType.SFIXED32]: int32,
  [ScalarType.UINT32]: uint32,
  [ScalarType.FIXED32]: uint32,
  [ScalarType.INT64]: int64,
  [ScalarType.SINT64]: int64,
  [ScalarType.SFIXED64]: int64,
  [ScalarType.UINT64]: uint64,
  [ScalarType.FIXED64]: uint64,
};

/** The integer type of a scalar; undefined for other scalars. */
export function integerTypeOf(scalar: ScalarType): IntegerType | undefined {
  return integerTypes[scalar];
}

/** The bounds that a field's rules add to its type; undefined where they add none. */
export interface Bounds {
  readonly min?: bigint | undefined;
  readonly max?: bigint | undefined;
}

/** The type in words: `a 64-bit integer, from … to …`. */
export function describeInteger({ bits, min, max }: IntegerType, bounds: Bounds = {}): string {
  return `a ${bits}-bit integer, from ${bounds.min ?? min} to ${bounds.max ?? max}`;
}

/** The integer as messages hold it: a number for 32 bits; for 64 bits a bigint, or a string where the field says so. */
export function localInteger(value: bigint, type: IntegerType, longAsString: boolean): number | bigint | string {
  if (type.bits === 32) {
    return Number(value);
  }
  return longAsString ? String(value) : value;
}

/**
 * The exact integer of a JSON number, given as a number or by its source. Undefined when it is not an integer, or out
 * of the type's range.
 */
export function integerFromJsonNumber(number: number | string, type: IntegerType): bigint | undefined {
  const value = Number.isSafeInteger(number) ? BigInt(number) : parseInteger(String(number));
  return value === undefined || value < type.min || value > type.max ? undefined : value;
}
