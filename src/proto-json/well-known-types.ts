import { create, type DescMessage, fromJson, type JsonValue, type Message, toJson } from "@bufbuild/protobuf";
import { type Duration, DurationSchema, isWrapperDesc, type Timestamp, TimestampSchema } from "@bufbuild/protobuf/wkt";
import { JsonNumber } from "../exact-json/number.ts";
import { ContentFault, faultWithin } from "./content-fault.ts";
import { type JsonReader, type JsonWriter, readString, type TextReader } from "./scalar.ts";

/**
 * The readers of the well-known types that are strings in JSON. These types, and those of `jsonTypes`, have the same
 * JSON in every policy. `Any`, wrappers and `NullValue` depend on the policy, and are read and written elsewhere.
 *
 * Source: https://protobuf.dev/programming-guides/json/
 */
const textTypes: Record<string, (desc: DescMessage) => TextReader> = {
  "google.protobuf.Timestamp": () => parseTimestamp,
  "google.protobuf.Duration": () => parseDuration,
  "google.protobuf.FieldMask": createFieldMaskReader,
};

const jsonTypes = new Set(["google.protobuf.Struct", "google.protobuf.Value", "google.protobuf.ListValue"]);

/** The reader of a well-known type that is a string in JSON; undefined for all other messages. */
export function wellKnownTextReader(desc: DescMessage): TextReader | undefined {
  return textTypes[desc.typeName]?.(desc);
}

/** The reader of a well-known type from JSON; undefined for all other messages. */
export function wellKnownReader(desc: DescMessage): JsonReader | undefined {
  const readText = wellKnownTextReader(desc);
  if (readText !== undefined) {
    return (json) => readText(readString(json));
  }
  return jsonTypes.has(desc.typeName) ? createPlainReader(desc) : undefined;
}

/** The writer of a well-known type to JSON; undefined for all other messages. */
export function wellKnownWriter(desc: DescMessage): JsonWriter | undefined {
  if (desc.typeName in textTypes || jsonTypes.has(desc.typeName)) {
    return (value) => JSON.stringify(toJson(desc, value as Message));
  }
  return undefined;
}

/** Whether the JSON of a message in an `Any` is under the key `value` instead of beside `@type`. */
export function hasSpecialJson(desc: DescMessage): boolean {
  const { typeName } = desc;
  return typeName in textTypes || jsonTypes.has(typeName) || typeName === "google.protobuf.Any" || isWrapperDesc(desc);
}

function createFieldMaskReader(desc: DescMessage): TextReader {
  return (text) => {
    try {
      return fromJson(desc, text);
    } catch {
      throw new ContentFault("must be field paths in lowerCamelCase, separated by commas");
    }
  };
}

const plainReasons: Record<string, string> = {
  "google.protobuf.Struct": "must be an object",
  "google.protobuf.ListValue": "must be an array",
};

function createPlainReader(desc: DescMessage): JsonReader {
  return (json) => {
    const plain = toPlainJson(json);
    try {
      return fromJson(desc, plain);
    } catch {
      throw new ContentFault(plainReasons[desc.typeName] ?? "must be a JSON value");
    }
  };
}

/** Converts all numbers to doubles, in place: a `Value` holds nothing else. Throws `ContentFault`. */
export function toPlainJson(json: unknown): JsonValue {
  if (json instanceof JsonNumber) {
    return toDouble(json);
  }
  if (typeof json === "object" && json !== null) {
    const holder = json as Record<string, unknown>;
    for (const key of Object.keys(holder)) {
      replaceByPlain(holder, key);
    }
  }
  return json as JsonValue;
}

function replaceByPlain(holder: Record<string, unknown>, key: string): void {
  try {
    holder[key] = toPlainJson(holder[key]);
  } catch (error) {
    throw faultWithin(error, keyLabel(holder, key));
  }
}

function keyLabel(holder: object, key: string): string {
  return Array.isArray(holder) ? `[${key}]` : mapKeyLabel(key);
}

/** A client's key as error messages show it: itself if it is a plain name, else a star. */
export function mapKeyLabel(key: string): string {
  return /^[A-Za-z0-9_-]{1,64}$/.test(key) ? key : "*";
}

function toDouble({ source }: JsonNumber): number {
  const value = Number(source);
  if (!Number.isFinite(value)) {
    throw new ContentFault("must be a number that a double can hold");
  }
  return value;
}

const timestamp =
  /^([0-9]{4}-[0-9]{2}-)([0-9]{2})(T(?:[01][0-9]|2[0-3]):[0-9]{2}:[0-9]{2})(?:\.([0-9]{1,9}))?(Z|[+-][0-9]{2}:[0-9]{2})$/;

/** 0001-01-01T00:00:00Z and 9999-12-31T23:59:59Z, in seconds since the Unix epoch. Source: timestamp.proto. */
const minSeconds = -62_135_596_800;
const maxSeconds = 253_402_300_799;

/** Reads an RFC 3339 time, to the nanosecond. Throws `ContentFault`. */
function parseTimestamp(text: string): Timestamp {
  const [, month = "", day = "", time = "", fraction = "", zone = ""] = timestamp.exec(text) ?? [];
  const seconds = Date.parse(`${month}${day}${time}${zone}`) / 1000;
  if (!(seconds >= minSeconds && seconds <= maxSeconds) || !isDayOfMonth(month, day)) {
    throw new ContentFault("must be a time such as 2026-01-31T12:00:00Z");
  }
  return create(TimestampSchema, { seconds: BigInt(seconds), nanos: parseNanos(fraction) });
}

/** `Date.parse` takes the 30th of February for the 2nd of March. `month` is `YYYY-MM-`. */
function isDayOfMonth(month: string, day: string): boolean {
  return new Date(`${month}${day}T00:00:00Z`).getUTCDate() === Number(day);
}

const duration = /^(-?)0*([0-9]{1,12})(?:\.([0-9]{1,9}))?s$/;

/** Some 10,000 years. Source: duration.proto. */
const maxDurationSeconds = 315_576_000_000;

/** Reads a duration in seconds, such as `1.5s`, to the nanosecond. Throws `ContentFault`. */
function parseDuration(text: string): Duration {
  const [, sign, digits, fraction = ""] = duration.exec(text) ?? [];
  const seconds = Number(digits);
  if (!(seconds <= maxDurationSeconds)) {
    throw new ContentFault("must be a duration in seconds, such as 1.5s");
  }
  const nanos = parseNanos(fraction);
  return sign === "-"
    ? create(DurationSchema, { seconds: BigInt(-seconds), nanos: nanos === 0 ? 0 : -nanos })
    : create(DurationSchema, { seconds: BigInt(seconds), nanos });
}

function parseNanos(fraction: string): number {
  return Number(fraction.padEnd(9, "0"));
}
