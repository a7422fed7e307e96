import {
  type DescField,
  type DescMessage,
  fromJson,
  type JsonValue,
  type MessageShape,
  type Registry,
  ScalarType,
} from "@bufbuild/protobuf";
import { AnySchema, hasCustomJsonRepresentation, isWrapperDesc } from "@bufbuild/protobuf/wkt";
import { JsonNumber, parseInteger } from "../exact-json/number.ts";
import { parseJson } from "../exact-json/parse.ts";

/**
 * Reads a message from ProtoJSON, and ignores fields that it does not know, so that newer clients can call older
 * servers. Throws for all else that is wrong.
 *
 * The library's option for that also drops unknown enum values, which would turn a filter into no filter. And it reads
 * numbers as doubles, which would change them. The types in an `Any` are looked up in the registry.
 */
export function fromProtoJson<Desc extends DescMessage>(
  desc: Desc,
  bytes: Uint8Array,
  registry: Registry,
): MessageShape<Desc> {
  return fromJson(desc, knownFields(desc, parseJson(bytes), registry) as JsonValue, { registry });
}

function knownFields(desc: DescMessage, json: unknown, registry: Registry): unknown {
  const [value] = desc.fields;
  if (isWrapperDesc(desc) && value !== undefined) {
    return knownItem(value, json, registry);
  }
  if (desc.typeName === AnySchema.typeName) {
    return knownAny(json, registry);
  }
  // Most of the well-known types have JSON of their own, which holds no fields.
  if (!isObject(json) || hasCustomJsonRepresentation(desc)) {
    return plain(json);
  }
  const known: Record<string, unknown> = {};
  for (const [name, field] of namesOf(desc)) {
    if (Object.hasOwn(json, name)) {
      known[name] = knownValue(field, json[name], registry);
    }
  }
  return known;
}

/** In an `Any`, a message is beside `@type`, or under `value` where its own JSON is not an object of its fields. */
function knownAny(json: unknown, registry: Registry): unknown {
  const typeUrl = isObject(json) ? json["@type"] : undefined;
  const desc = typeof typeUrl === "string" ? registry.getMessage(typeUrl.replace(/^.*\//, "")) : undefined;
  if (!isObject(json) || desc === undefined) {
    return plain(json);
  }
  return hasCustomJsonRepresentation(desc)
    ? { "@type": typeUrl, value: knownFields(desc, json.value, registry) }
    : { ...(knownFields(desc, json, registry) as object), "@type": typeUrl };
}

const names = new WeakMap<DescMessage, readonly (readonly [string, DescField])[]>();

/** The names of a message's fields in JSON: the JSON name, and the proto name. */
function namesOf(desc: DescMessage): readonly (readonly [string, DescField])[] {
  const known = names.get(desc);
  if (known !== undefined) {
    return known;
  }
  const made = desc.fields.flatMap((field) =>
    [...new Set([field.jsonName, field.name])].map((name) => [name, field] as const),
  );
  names.set(desc, made);
  return made;
}

function knownValue(field: DescField, json: unknown, registry: Registry): unknown {
  switch (field.fieldKind) {
    case "list":
      return Array.isArray(json) ? json.map((item) => knownItem(field, item, registry)) : plain(json);
    case "map":
      return isObject(json) ? mapValues(json, (item) => knownItem(field, item, registry)) : plain(json);
    default:
      return knownItem(field, json, registry);
  }
}

function knownItem(field: DescField, json: unknown, registry: Registry): unknown {
  if (field.message !== undefined) {
    return knownFields(field.message, json, registry);
  }
  return json instanceof JsonNumber && isInteger(field) ? exactInteger(field, json.source) : plain(json);
}

function isInteger({ scalar, enum: values }: DescField): boolean {
  return values !== undefined || (scalar !== undefined && !notIntegers.has(scalar));
}

const notIntegers = new Set([
  ScalarType.DOUBLE,
  ScalarType.FLOAT,
  ScalarType.BOOL,
  ScalarType.STRING,
  ScalarType.BYTES,
]);

/** The integer that a double would change. The library checks that it fits its field. */
function exactInteger({ scalar }: DescField, source: string): bigint | number {
  const integer = parseInteger(source);
  if (integer === undefined) {
    throw new Error(`not an integer of 64 bits: ${source}`);
  }
  return scalar !== undefined && longs.has(scalar) ? integer : Number(integer);
}

const longs = new Set([
  ScalarType.INT64,
  ScalarType.UINT64,
  ScalarType.SINT64,
  ScalarType.FIXED64,
  ScalarType.SFIXED64,
]);

/** A value with all its numbers as doubles. */
function plain(json: unknown): unknown {
  if (json instanceof JsonNumber) {
    return toDouble(json.source);
  }
  if (Array.isArray(json)) {
    return json.map(plain);
  }
  return isObject(json) ? mapValues(json, plain) : json;
}

/** `Value` could hold an infinity, which JSON cannot write. */
function toDouble(source: string): number {
  const double = Number(source);
  if (!Number.isFinite(double)) {
    throw new Error(`not a double: ${source}`);
  }
  return double;
}

function isObject(json: unknown): json is Record<string, unknown> {
  return typeof json === "object" && json !== null && !Array.isArray(json) && !(json instanceof JsonNumber);
}

function mapValues(object: Record<string, unknown>, map: (value: unknown) => unknown): Record<string, unknown> {
  return Object.fromEntries(Object.entries(object).map(([key, value]) => [key, map(value)]));
}
