import {
  type DescField,
  type DescMessage,
  fromJson,
  type JsonValue,
  type MessageShape,
  ScalarType,
} from "@bufbuild/protobuf";
import { JsonNumber } from "../exact-json/json-number.ts";
import { parseInteger } from "../exact-json/number.ts";
import { parseJson } from "../exact-json/parse.ts";

/**
 * Reads a message from ProtoJSON, and ignores fields that it does not know, so that newer clients can call older
 * servers. Throws for all else that is wrong.
 *
 * The library has an option for that, with which it also drops enum values that it does not know; and it reads numbers
 * as doubles. A filter must not become no filter, nor a number another one.
 */
export function fromProtoJson<Desc extends DescMessage>(desc: Desc, bytes: Uint8Array): MessageShape<Desc> {
  return fromJson(desc, knownFields(desc, parseJson(bytes)) as JsonValue);
}

function knownFields(desc: DescMessage, json: unknown): unknown {
  // The well-known types have JSON of their own, which holds no fields.
  if (!isObject(json) || desc.typeName.startsWith("google.protobuf.")) {
    return plain(json);
  }
  const fields = desc.fields.flatMap((field) =>
    [...new Set([field.jsonName, field.name])].map((name) => [name, field] as const),
  );
  const known = fields.filter(([name]) => Object.hasOwn(json, name));
  return Object.fromEntries(known.map(([name, field]) => [name, knownValue(field, json[name])]));
}

function knownValue(field: DescField, json: unknown): unknown {
  switch (field.fieldKind) {
    case "list":
      return Array.isArray(json) ? json.map((item) => knownItem(field, item)) : json;
    case "map":
      return isObject(json) ? mapValues(json, (item) => knownItem(field, item)) : json;
    default:
      return knownItem(field, json);
  }
}

function knownItem({ message, scalar }: DescField, json: unknown): unknown {
  if (message !== undefined) {
    return knownFields(message, json);
  }
  // An integer beyond the doubles is read as what it is; whether it fits its field is for the library to say.
  const isInteger = scalar !== undefined && scalar !== ScalarType.DOUBLE && scalar !== ScalarType.FLOAT;
  return (json instanceof JsonNumber && isInteger ? parseInteger(json.source) : undefined) ?? plain(json);
}

/** A value in which all numbers are doubles. */
function plain(json: unknown): unknown {
  if (json instanceof JsonNumber) {
    return Number(json.source);
  }
  if (Array.isArray(json)) {
    return json.map(plain);
  }
  return isObject(json) ? mapValues(json, plain) : json;
}

function isObject(json: unknown): json is Record<string, unknown> {
  return typeof json === "object" && json !== null && !Array.isArray(json) && !(json instanceof JsonNumber);
}

function mapValues(object: Record<string, unknown>, map: (value: unknown) => unknown): Record<string, unknown> {
  return Object.fromEntries(Object.entries(object).map(([key, value]) => [key, map(value)]));
}
