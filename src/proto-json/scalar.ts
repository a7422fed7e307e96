import { ScalarType } from "@bufbuild/protobuf";
import { base64Decode, base64Encode } from "@bufbuild/protobuf/wire";
import { isNumber, JsonNumber, parseInteger } from "../exact-json/number.ts";
import { ContentFault } from "./content-fault.ts";
import type { JsonPolicy } from "./json-policy.ts";

/** The bounds of an integer type, both inclusive. */
export interface IntegerType {
  readonly bits: 32 | 64;
  readonly min: bigint;
  readonly max: bigint;
}

/** The type of 32-bit integers with a sign. */
export const int32: IntegerType = { bits: 32, min: -(2n ** 31n), max: 2n ** 31n - 1n };
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
function describeInteger({ bits, min, max }: IntegerType, bounds: Bounds = {}): string {
  return `a ${bits}-bit integer, from ${bounds.min ?? min} to ${bounds.max ?? max}`;
}

/**
 * The function that converts an integer to what messages hold: a number for 32 bits; for 64 bits a bigint, or a string
 * where the field says so.
 */
function integerConverter({ bits }: IntegerType, longAsString: boolean): (value: bigint) => number | bigint | string {
  if (bits === 32) {
    return Number;
  }
  return longAsString ? String : BigInt;
}

/**
 * The exact integer of a JSON number, given as a number or by its source. Undefined when it is not an integer, or out
 * of the type's range.
 */
export function integerFromJsonNumber(number: number | string, type: IntegerType): bigint | undefined {
  const value = Number.isSafeInteger(number) ? BigInt(number) : parseInteger(String(number));
  return value === undefined || value < type.min || value > type.max ? undefined : value;
}

/** Reads a value from the text of a path, a query or a JSON string. Throws `ContentFault`. */
export type TextReader = (text: string) => unknown;

/**
 * The reader of a scalar type. Integers are in plain decimal: no plus sign, no leading zeros, no `-0`. `bounds` appear
 * in the error message only; validation refuses values outside of them.
 */
export function createTextReader(scalar: ScalarType, longAsString: boolean, bounds?: Bounds): TextReader {
  const integer = integerTypeOf(scalar);
  if (integer !== undefined) {
    return createDecimalReader(integer, longAsString, bounds);
  }
  return textReaders[scalar] ?? ((text) => text);
}

/** The readers of scalars that are neither integers nor strings. */
const textReaders: Partial<Record<ScalarType, TextReader>> = {
  [ScalarType.BOOL]: parseBool,
  [ScalarType.BYTES]: parseBase64,
  [ScalarType.DOUBLE]: parseDouble,
  [ScalarType.FLOAT]: parseFloat32,
};

const decimal = /^(?:0|-?[1-9][0-9]{0,19})$/;

function createDecimalReader(type: IntegerType, longAsString: boolean, bounds?: Bounds): TextReader {
  const reason = `must be ${describeInteger(type, bounds)}, in plain decimal`;
  const convert = integerConverter(type, longAsString);
  return (text) => {
    const value = decimal.test(text) ? BigInt(text) : undefined;
    if (value === undefined || value < type.min || value > type.max) {
      throw new ContentFault(reason);
    }
    return convert(value);
  };
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
function parseBase64(text: string): Uint8Array {
  if (!base64.test(text)) {
    throw new ContentFault("must be base64");
  }
  return base64Decode(text);
}

/** The largest finite float: IEEE 754 binary32. */
const maxFloat = 2 ** 128 - 2 ** 104;

/**
 * How far a double may exceed `maxFloat` and still round to it: just less than half the distance to the next float. Go
 * writes `maxFloat` as 3.4028235e+38, which is slightly larger.
 */
const halfUlp = 2 ** 103 - 2 ** 75;

/** Reads a double as JSON writes numbers, or one of `NaN`, `Infinity`, `-Infinity`. Throws `ContentFault`. */
function parseDouble(text: string): number {
  return parseSpecialNumber(text) ?? parseFinite(text, Number.MAX_VALUE);
}

/** Reads a float as `parseDouble` does. A number that rounds to the largest float becomes the largest float. */
function parseFloat32(text: string): number {
  const value = parseSpecialNumber(text) ?? parseFinite(text, maxFloat, maxFloat + halfUlp);
  return Math.abs(value) > maxFloat && Number.isFinite(value) ? Math.sign(value) * maxFloat : value;
}

/**
 * Reads the numbers that ProtoJSON writes as strings, because JSON has no numbers for them. Undefined for any other
 * text.
 */
function parseSpecialNumber(text: string): number | undefined {
  return text === "NaN" || text === "Infinity" || text === "-Infinity" ? Number(text) : undefined;
}

/** Reads a number of at most `limit`. Errors name `max`: numbers between `max` and `limit` round to it. */
function parseFinite(text: string, max: number, limit = max): number {
  const value = isNumber(text) ? Number(text) : undefined;
  if (value === undefined || Math.abs(value) > limit) {
    throw new ContentFault(`must be a number from -${max} to ${max}`);
  }
  return value;
}

/** Converts a value of `parseJson` to one that a message holds. Throws `ContentFault`. */
export type JsonReader = (json: unknown) => unknown;

/** Converts a value that a message holds to JSON text. */
export type JsonWriter = (value: unknown) => string;

/** The reader of a scalar type. */
export function createScalarReader(scalar: ScalarType, longAsString: boolean, policy: JsonPolicy): JsonReader {
  const integer = integerTypeOf(scalar);
  if (integer !== undefined) {
    return createIntegerReader(integer, longAsString, policy);
  }
  return jsonReaders[scalar]?.(policy) ?? readString;
}

/** For scalars that are neither integers nor strings. */
const jsonReaders: Partial<Record<ScalarType, (policy: JsonPolicy) => JsonReader>> = {
  [ScalarType.BOOL]: () => readBool,
  [ScalarType.BYTES]: () => (json) => parseBase64(readString(json)),
  [ScalarType.DOUBLE]: (policy) => createFloatReader(parseDouble, policy),
  [ScalarType.FLOAT]: (policy) => createFloatReader(parseFloat32, policy),
};

function createIntegerReader(type: IntegerType, longAsString: boolean, { int64 }: JsonPolicy): JsonReader {
  const reason = `must be ${describeInteger(type)}${int64 === "number" ? ", without quotes" : ""}`;
  const convert = integerConverter(type, longAsString);
  return (json) => {
    const number = typeof json === "number" ? json : integerSource(json, int64);
    const value = number === undefined ? undefined : integerFromJsonNumber(number, type);
    if (value === undefined) {
      throw new ContentFault(reason);
    }
    return convert(value);
  };
}

function createFloatReader(parse: (text: string) => number, { int64 }: JsonPolicy): JsonReader {
  return (json) => {
    const source = numberSource(json);
    if (source !== undefined) {
      return parse(source);
    }
    if (typeof json !== "string" || (int64 === "number" && parseSpecialNumber(json) === undefined)) {
      throw new ContentFault("must be a number");
    }
    return parse(json);
  };
}

function integerSource(json: unknown, int64: JsonPolicy["int64"]): string | undefined {
  return int64 === "string" && typeof json === "string" ? json : numberSource(json);
}

/** The source of a JSON number; undefined for any other value. */
export function numberSource(json: unknown): string | undefined {
  return typeof json === "number" ? String(json) : json instanceof JsonNumber ? json.source : undefined;
}

function readBool(json: unknown): boolean {
  if (typeof json !== "boolean") {
    throw new ContentFault("must be true or false");
  }
  return json;
}

/** Throws `ContentFault` for anything but a string. */
export function readString(json: unknown): string {
  if (typeof json !== "string") {
    throw new ContentFault("must be a string");
  }
  return json;
}

/** The writer of a scalar type. */
export function createScalarWriter(scalar: ScalarType, policy: JsonPolicy): JsonWriter {
  const integer = integerTypeOf(scalar);
  if (integer !== undefined) {
    return integer.bits === 64 && policy.int64 === "string" ? (value) => `"${String(value)}"` : String;
  }
  return jsonWriters[scalar] ?? JSON.stringify;
}

/** For scalars that are neither integers nor strings. */
const jsonWriters: Partial<Record<ScalarType, JsonWriter>> = {
  [ScalarType.BOOL]: String,
  [ScalarType.BYTES]: (value) => `"${base64Encode(value as Uint8Array)}"`,
  [ScalarType.DOUBLE]: writeDouble,
  [ScalarType.FLOAT]: writeDouble,
};

function writeDouble(value: unknown): string {
  if (Number.isFinite(value)) {
    return Object.is(value, -0) ? "-0" : String(value);
  }
  return `"${String(value)}"`;
}
