import { type DescMessage, fromJson, type JsonValue, type Message, toJson } from "@bufbuild/protobuf";
import { isWrapperDesc } from "@bufbuild/protobuf/wkt";
import { JsonNumber } from "../exact-json/json-number.ts";
import { ContentFault, faultWithin } from "./content-fault.ts";
import { type JsonReader, type JsonWriter, readString } from "./json-scalar.ts";
import type { TextReader } from "./text-scalar.ts";
import { parseDuration, parseTimestamp } from "./timestamp.ts";

/**
 * The well-known types whose JSON is not an object of their fields, save `Any`, wrappers and `NullValue`, which follow
 * the gateway's own policy. They are the same in every policy.
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

/** The reader of a well-known type, to a message; undefined for all other messages. */
export function wellKnownReader(desc: DescMessage): JsonReader | undefined {
  const readText = wellKnownTextReader(desc);
  if (readText !== undefined) {
    return (json) => readText(readString(json));
  }
  return jsonTypes.has(desc.typeName) ? createPlainReader(desc) : undefined;
}

/** The writer of a well-known type, from a message; undefined for all other messages. */
export function wellKnownWriter(desc: DescMessage): JsonWriter | undefined {
  if (desc.typeName in textTypes || jsonTypes.has(desc.typeName)) {
    return (value) => JSON.stringify(toJson(desc, value as Message));
  }
  return undefined;
}

/** Whether a message in an `Any` has its JSON under the key `value`, instead of beside `@type`. */
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

/** Makes doubles of all numbers, in place, since that is what a `Value` holds. Throws `ContentFault`. */
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

/** A key that the client chose, as an error message may show it: the name if it is a plain one, else a star. */
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
