import {
  type DescField,
  type DescMessage,
  fromBinary,
  fromJson,
  type JsonValue,
  type MessageShape,
  type Registry,
  ScalarType,
  toBinary,
  toJsonString,
} from "@bufbuild/protobuf";
import { BinaryReader, WireType } from "@bufbuild/protobuf/wire";
import { AnySchema, hasCustomJsonRepresentation, isWrapperDesc } from "@bufbuild/protobuf/wkt";
import { JsonNumber, parseInteger } from "../exact-json/number.ts";
import { JsonFault, maxJsonValues, parseJson } from "../exact-json/parse.ts";
import type { Exchange } from "../http/exchange.ts";
import { ProtocolError } from "../http/protocol-error.ts";
import { joinJson, type Parts, type PreparedMessage, writeParts } from "./prepared-message.ts";

/** Converts messages to and from bytes. */
export interface Codec {
  /** Throws `malformed`. */
  decode<Desc extends DescMessage>(desc: Desc, bytes: Uint8Array): MessageShape<Desc>;
  encode<Desc extends DescMessage>(desc: Desc, message: MessageShape<Desc>): string | Uint8Array;
  /** Encodes a message that is made of parts. */
  encodeParts(desc: DescMessage, parts: Parts): Promise<Uint8Array>;
  /** The bytes of a prepared message, if it already has them in this format. */
  readyBytes(message: PreparedMessage): Uint8Array | undefined;
}

/** Decodes the message of a request. Throws `malformed`, or else the fault of the request's head, if it has one. */
export function decodeMessage(
  codec: Codec,
  desc: DescMessage,
  bytes: Uint8Array,
  { fault }: Exchange,
): MessageShape<DescMessage> {
  const message = codec.decode(desc, bytes);
  if (fault !== undefined) {
    throw fault;
  }
  return message;
}

/** Encodes a prepared message. */
export async function encodePrepared(
  codec: Codec,
  desc: DescMessage,
  message: PreparedMessage,
): Promise<string | Uint8Array> {
  if (message.parts !== undefined) {
    return await codec.encodeParts(desc, message.parts());
  }
  return codec.readyBytes(message) ?? codec.encode(desc, await message.whole());
}

/** The protobuf wire format. Unknown fields are skipped: nothing reads them. */
export const binaryCodec: Codec = {
  decode(desc, bytes) {
    return decoding(desc, () => {
      // A value has one byte at least.
      if (bytes.length > maxValues) {
        assertFewValues(desc, bytes);
      }
      return fromBinary(desc, bytes, { readUnknownFields: false });
    });
  },
  encode: toBinary,
  /** Concatenated messages are merged. Source: https://protobuf.dev/programming-guides/encoding/#last-one-wins */
  encodeParts: (desc, parts) => collect(writeParts(parts, (part) => toBinary(desc, part))),
  readyBytes: ({ binary }) => binary?.(),
};

/** How many values a message may hold, as in JSON. Each costs memory and time, and a compressed one next to no bytes. */
const maxValues = maxJsonValues;

/** Throws if a message holds more than `maxValues`. Each byte of packed numbers counts as one. */
function assertFewValues(message: DescMessage, bytes: Uint8Array): void {
  const reader = new BinaryReader(bytes);
  let count = 0;
  const countFields = (desc: DescMessage, end: number) => {
    while (reader.pos < end) {
      const [number, wireType] = reader.tag();
      const field = desc.fields.find((each) => each.number === number);
      count++;
      if (field === undefined || wireType !== WireType.LengthDelimited) {
        reader.skip(wireType, number);
      } else {
        const length = reader.uint32();
        if (field.message !== undefined) {
          countFields(field.message, reader.pos + length);
        } else {
          count += isNumeric(field) ? length : 0;
          reader.pos += length;
        }
      }
      if (count > maxValues) {
        throw new ProtocolError("malformed", `The request must not hold more than ${maxValues} values.`);
      }
    }
  };
  countFields(message, bytes.length);
}

function isNumeric({ scalar }: DescField): boolean {
  return scalar !== ScalarType.STRING && scalar !== ScalarType.BYTES;
}

/** ProtoJSON, as `fromProtoJson` reads it. The types in an `Any` are looked up in the registry. */
export function createJsonCodec(registry: Registry): Codec {
  const options = { registry };
  const encode: Codec["encode"] = (desc, message) => toJsonString(desc, message, options);
  return {
    decode(desc, bytes) {
      return decoding(desc, () => fromProtoJson(desc, bytes, registry));
    },
    encode,
    encodeParts: (desc, parts) => collect(joinJson(writeParts(parts, (part) => toJsonString(desc, part, options)))),
    readyBytes: () => undefined,
  };
}

async function collect(pieces: AsyncIterable<string | Uint8Array>): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  for await (const piece of pieces) {
    chunks.push(typeof piece === "string" ? Buffer.from(piece) : piece);
  }
  return Buffer.concat(chunks);
}

function decoding<T>(desc: DescMessage, decode: () => T): T {
  try {
    return decode();
  } catch (error) {
    if (error instanceof ProtocolError) {
      throw error;
    }
    // The messages of other errors may quote the input, so they are kept as the cause and not shown.
    const fault = error instanceof JsonFault ? error.reason : `is not a valid ${desc.typeName}. Check its encoding`;
    const malformed = new ProtocolError("malformed", `The request ${fault}.`);
    malformed.cause = error;
    throw malformed;
  }
}

/**
 * Reads a message from ProtoJSON. It ignores unknown fields, so that newer clients can call older servers. Throws for
 * anything else that is wrong.
 *
 * The library has an option that ignores unknown fields, but it also drops unknown enum values: a filter would become
 * no filter. The library also reads all numbers as doubles, which changes large integers. The types in an `Any` are
 * looked up in the registry.
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
  // Most of the well-known types have a JSON form of their own, which is not an object of fields.
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

/**
 * Reads an `Any`. The fields of its message are beside `@type`. A message with a JSON form of its own is under `value`.
 */
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

/** The exact integer of a number that a double would change. The library checks that it fits its field. */
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

/** Throws for a number that is infinite as a double: `Value` could hold it, but JSON cannot write it. */
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
