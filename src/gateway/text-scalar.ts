import { ScalarType } from "@bufbuild/protobuf";
import { base64Decode } from "@bufbuild/protobuf/wire";
import { isNumber } from "../exact-json/number.ts";
import { ContentFault } from "./content-fault.ts";
import { describeInteger, type IntegerType, integerTypeOf, localInteger } from "./integer-type.ts";

/** Reads a value out of text, as a path, a query or a JSON string has it. Throws `ContentFault`. */
export type TextReader = (text: string) => unknown;

/** The reader of a scalar type. Integers are in plain decimal: no plus sign, no leading zeros, no `-0`. */
export function createTextReader(scalar: ScalarType, longAsString: boolean): TextReader {
  const integer = integerTypeOf(scalar);
  if (integer !== undefined) {
    return (text) => localInteger(parseDecimal(text, integer), integer, longAsString);
  }
  return readers[scalar] ?? ((text) => text);
}

/** Those of the scalars that are neither integers nor strings. */
const readers: Partial<Record<ScalarType, TextReader>> = {
  [ScalarType.BOOL]: parseBool,
  [ScalarType.BYTES]: parseBase64,
  [ScalarType.DOUBLE]: parseDouble,
  [ScalarType.FLOAT]: parseFloat32,
};

const decimal = /^(?:0|-?[1-9][0-9]{0,19})$/;

/** Reads an integer in plain decimal. Throws `ContentFault`. */
function parseDecimal(text: string, type: IntegerType): bigint {
  const value = decimal.test(text) ? BigInt(text) : undefined;
  if (value === undefined || value < type.min || value > type.max) {
    throw new ContentFault(`must be ${describeInteger(type)}, in plain decimal`);
  }
  return value;
}

/** Reads `true` or `false`. Throws `ContentFault`. */
function parseBool(text: string): boolean {
  if (text !== "true" && text !== "false") {
    throw new ContentFault("must be true or false");
  }
  return text === "true";
}

const base64 = /^(?:[A-Za-z0-9+/_-]{4})*(?:[A-Za-z0-9+/_-]{2}(?:==)?|[A-Za-z0-9+/_-]{3}=?)?$/;

/** Reads base64 of either alphabet, with or without padding. Throws `ContentFault`. */
export function parseBase64(text: string): Uint8Array {
  if (!base64.test(text)) {
    throw new ContentFault("must be base64");
  }
  return base64Decode(text);
}

/** The largest finite float: IEEE 754 binary32. */
const maxFloat = 2 ** 128 - 2 ** 104;

/** Reads a double as JSON writes numbers, or one of `NaN`, `Infinity`, `-Infinity`. Throws `ContentFault`. */
export function parseDouble(text: string): number {
  return parseSpecialNumber(text) ?? parseFinite(text, Number.MAX_VALUE);
}

/** As `parseDouble`, within the range of a float. */
export function parseFloat32(text: string): number {
  return parseSpecialNumber(text) ?? parseFinite(text, maxFloat);
}

/** The numbers that JSON has no number for, by the strings that ProtoJSON has for them. */
export function parseSpecialNumber(text: string): number | undefined {
  return text === "NaN" || text === "Infinity" || text === "-Infinity" ? Number(text) : undefined;
}

function parseFinite(text: string, max: number): number {
  const value = isNumber(text) ? Number(text) : undefined;
  if (value === undefined || Math.abs(value) > max) {
    throw new ContentFault(`must be a number from -${max} to ${max}`);
  }
  return value;
}
