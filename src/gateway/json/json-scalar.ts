import { ScalarType } from "@bufbuild/protobuf";
import { base64Encode } from "@bufbuild/protobuf/wire";
import { JsonNumber } from "../../exact-json/number.ts";
import { ContentFault } from "../content-fault.ts";
import {
  describeInteger,
  type IntegerType,
  integerFromJsonNumber,
  integerTypeOf,
  localInteger,
  parseBase64,
  parseDouble,
  parseFloat32,
  parseSpecialNumber,
} from "../fields/text-scalar.ts";
import type { JsonPolicy } from "./json-policy.ts";

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
  return readerMakers[scalar]?.(policy) ?? readString;
}

/** For scalars that are neither integers nor strings. */
const readerMakers: Partial<Record<ScalarType, (policy: JsonPolicy) => JsonReader>> = {
  [ScalarType.BOOL]: () => readBool,
  [ScalarType.BYTES]: () => (json) => parseBase64(readString(json)),
  [ScalarType.DOUBLE]: (policy) => createFloatReader(parseDouble, policy),
  [ScalarType.FLOAT]: (policy) => createFloatReader(parseFloat32, policy),
};

function createIntegerReader(type: IntegerType, longAsString: boolean, { int64 }: JsonPolicy): JsonReader {
  const reason = `must be ${describeInteger(type)}${int64 === "number" ? ", without quotes" : ""}`;
  return (json) => {
    const number = typeof json === "number" ? json : integerSource(json, int64);
    const value = number === undefined ? undefined : integerFromJsonNumber(number, type);
    if (value === undefined) {
      throw new ContentFault(reason);
    }
    return localInteger(value, type, longAsString);
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

function numberSource(json: unknown): string | undefined {
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
  return writers[scalar] ?? JSON.stringify;
}

/** For scalars that are neither integers nor strings. */
const writers: Partial<Record<ScalarType, JsonWriter>> = {
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
