import {
  create,
  type DescEnum,
  type DescField,
  type DescMessage,
  type Message,
  type Registry,
  type ScalarType,
} from "@bufbuild/protobuf";
import { AnySchema, anyPack, isWrapperDesc, NullValueSchema, ValueSchema } from "@bufbuild/protobuf/wkt";
import { isJsonObject } from "../exact-json/parse.ts";
import { ContentFault, faultWithin, givenUnderBothNames } from "./content-fault.ts";
import {
  assertOneofUnset,
  type Boxing,
  createFields,
  createSetter,
  type Fields,
  type ValueShape,
  valueShape,
} from "./fields.ts";
import { createEnumNames, type JsonPolicy } from "./json-policy.ts";
import { type Bounds, createScalarReader, createTextReader, type JsonReader, type TextReader } from "./scalar.ts";
import { hasSpecialJson, mapKeyLabel, toPlainJson, wellKnownReader, wellKnownTextReader } from "./well-known-types.ts";

/**
 * The readers of messages, each compiled once, on first use. They throw `ContentFault`.
 *
 * Unknown fields are ignored. A field has its JSON name or its proto name. Two fields of a oneof are refused.
 */
export class JsonReaders {
  readonly #policy: JsonPolicy;
  readonly #registry: Registry | undefined;
  readonly #readers = new Map<DescMessage, JsonReader>();

  constructor(policy: JsonPolicy, registry: Registry | undefined) {
    this.#policy = policy;
    this.#registry = registry;
  }

  /**
   * The reader of a message type. To it, the fields at the paths in `without` (proto names, joined by dots) are unknown
   * fields. Throws an `Error` when the policy does not suit one of its enums.
   */
  message(desc: DescMessage, without: readonly string[] = []): JsonReader {
    if (without.length === 0) {
      return this.#readers.get(desc) ?? this.#compileMessage(desc);
    }
    const properties = new Map<string, NamedProperty>();
    this.#compileFields(desc, without, properties);
    return createMessageReader(desc, properties, this.#policy);
  }

  /** The reader of a field's value, or of the whole list or map. */
  field(field: DescField): JsonReader {
    const read = this.#value(field);
    if (field.fieldKind === "list") {
      return (json) => readList(json, read);
    }
    return field.fieldKind === "map" ? createMapReader(field.mapKey, read) : read;
  }

  #compileMessage(desc: DescMessage): JsonReader {
    const special = this.#special(desc);
    if (special !== undefined) {
      this.#readers.set(desc, special);
      return special;
    }
    const properties = new Map<string, NamedProperty>();
    const reader = createMessageReader(desc, properties, this.#policy);
    // The reader is registered before its fields are compiled, so that recursive messages find it.
    this.#readers.set(desc, reader);
    this.#compileFields(desc, [], properties);
    return reader;
  }

  #compileFields(desc: DescMessage, without: readonly string[], properties: Map<string, NamedProperty>): void {
    for (const field of desc.fields.filter(({ name }) => !without.includes(name))) {
      const property = this.#property(field, this.#fieldWithout(field, without));
      properties.set(field.name, underProtoName(field, property));
      properties.set(field.jsonName, property);
    }
  }

  #fieldWithout(field: DescField, without: readonly string[]): JsonReader {
    const prefix = `${field.name}.`;
    const inField = without.filter((path) => path.startsWith(prefix)).map((path) => path.slice(prefix.length));
    return field.fieldKind === "message" && inField.length > 0
      ? this.message(field.message, inField)
      : this.field(field);
  }

  #property(field: DescField, read: JsonReader): Property {
    const property = createProperty(field, read);
    if (!this.#policy.nullIsUnset || takesNull(field)) {
      return property;
    }
    return (message, json) => {
      if (json !== null) {
        property(message, json);
      }
    };
  }

  #special(desc: DescMessage): JsonReader | undefined {
    if (desc.typeName === AnySchema.typeName) {
      return (json) => this.#readAny(json);
    }
    const [value] = desc.fields;
    if (isWrapperDesc(desc) && value !== undefined) {
      const read = this.field(value);
      return (json) => create(desc, { value: read(json) });
    }
    return wellKnownReader(desc);
  }

  #value(field: DescField): JsonReader {
    const shape = valueShape(field);
    switch (shape.kind) {
      case "scalar":
        return createScalarReader(shape.scalar, shape.longAsString, this.#policy);
      case "enum":
        return this.#enum(shape.enum);
      case "message":
        return this.#boxed(shape.message, shape.boxing);
    }
  }

  #enum(desc: DescEnum): JsonReader {
    const { parse } = createEnumNames(desc, this.#policy);
    return isNullValue(desc) ? (json) => (json === null ? 0 : parse(json)) : parse;
  }

  #boxed(desc: DescMessage, boxing: Boxing): JsonReader {
    if (boxing === "json") {
      return (json) => toPlainJson(readObject(json));
    }
    if (boxing === "bare" && desc.fields[0] !== undefined) {
      return this.field(desc.fields[0]);
    }
    return this.message(desc);
  }

  /** Looks the message up by its name. The host in the type's URL does not matter. */
  #readAny(json: unknown): Message {
    const object = readObject(json);
    const typeUrl = object["@type"];
    if (typeUrl === undefined && Object.keys(object).length === 0) {
      return create(AnySchema);
    }
    const desc = typeof typeUrl === "string" ? this.#registry?.getMessage(typeUrl.replace(/^.*\//, "")) : undefined;
    if (desc === undefined) {
      throw new ContentFault("must have in @type the URL of a type that is known here");
    }
    const content = hasSpecialJson(desc) ? readAnyValue(object, this.message(desc)) : this.message(desc)(object);
    return Object.assign(anyPack(desc, content as Message), { typeUrl });
  }
}

/** Sets a field of a message to what one member of an object has. */
type Property = (message: Fields, json: unknown) => void;

/** A property under one of its names, in an object that may also have the other one. */
type NamedProperty = (message: Fields, json: unknown, object: Readonly<Record<string, unknown>>) => void;

/** Whether `null` is a value of a field. */
function takesNull({ fieldKind, message, enum: values }: DescField): boolean {
  return (
    (fieldKind === "message" && message.typeName === ValueSchema.typeName) ||
    (fieldKind === "enum" && isNullValue(values))
  );
}

function isNullValue({ typeName }: DescEnum): boolean {
  return typeName === NullValueSchema.typeName;
}

function createProperty(field: DescField, read: JsonReader): Property {
  const { localName } = field;
  if (field.oneof === undefined) {
    return (message, json) => {
      message[localName] = read(json);
    };
  }
  const set = createSetter(field);
  return (message, json) => {
    assertOneofUnset(field, message);
    set(message, read(json));
  };
}

/** The property under the field's proto name. It throws `ContentFault` if the object has the JSON name, too. */
function underProtoName({ jsonName }: DescField, property: Property): NamedProperty {
  return (message, json, object) => {
    if (Object.hasOwn(object, jsonName)) {
      throw givenUnderBothNames(jsonName);
    }
    property(message, json);
  };
}

function createMessageReader(
  desc: DescMessage,
  properties: ReadonlyMap<string, NamedProperty>,
  { protoNamesInFaults }: JsonPolicy,
): JsonReader {
  return (json) => {
    const object = readObject(json);
    const message = createFields(desc);
    for (const name of Object.keys(object)) {
      const property = properties.get(name);
      if (property !== undefined) {
        try {
          property(message, object[name], object);
        } catch (error) {
          throw faultWithin(error, protoNamesInFaults ? protoName(desc, name) : name);
        }
      }
    }
    return message;
  };
}

/** The proto name of the field that has `name` in JSON. */
function protoName({ fields }: DescMessage, name: string): string {
  return fields.find(({ jsonName }) => jsonName === name)?.name ?? name;
}

function readAnyValue(object: Record<string, unknown>, read: JsonReader): unknown {
  return readWithin("value", object.value, read);
}

/** Reads an array, item by item. Throws `ContentFault`. */
function readList(json: unknown, read: JsonReader): unknown[] {
  if (!Array.isArray(json)) {
    throw new ContentFault("must be an array");
  }
  const items: unknown[] = [];
  for (const [index, item] of json.entries()) {
    try {
      items.push(read(item));
    } catch (error) {
      throw faultWithin(error, `[${index}]`);
    }
  }
  return items;
}

/** The reader of a map, whose keys are of this scalar type. */
function createMapReader(mapKey: ScalarType, read: JsonReader): JsonReader {
  const readKey = createTextReader(mapKey, true);
  return (json) => {
    // `Object.fromEntries` takes `__proto__` for a key; an assignment would not.
    const entries = Object.entries(readObject(json)).map(([key, value]): [string, unknown] => {
      const label = mapKeyLabel(key);
      return [String(readWithin(label, key, readKey)), readWithin(label, value, read)];
    });
    return Object.fromEntries(entries);
  };
}

/** Reads the value of a key. Faults get the key before their path. */
function readWithin<T>(key: string, part: T, read: (part: T) => unknown): unknown {
  try {
    return read(part);
  } catch (error) {
    throw faultWithin(error, key);
  }
}

/** Throws `ContentFault` for anything but an object. */
function readObject(json: unknown): Record<string, unknown> {
  if (!isJsonObject(json)) {
    throw new ContentFault("must be an object");
  }
  return json;
}

/**
 * The reader of a field's value in a path or a query. Undefined for maps, and for messages except wrappers and the
 * well-known types that are strings in JSON.
 */
export function createFieldTextReader(field: DescField, policy: JsonPolicy): TextReader | undefined {
  return field.fieldKind === "map"
    ? undefined
    : createShapeTextReader(valueShape(field), policy, policy.bounds?.(field));
}

function createShapeTextReader(shape: ValueShape, policy: JsonPolicy, bounds?: Bounds): TextReader | undefined {
  switch (shape.kind) {
    case "scalar":
      return createTextReader(shape.scalar, shape.longAsString, bounds);
    case "enum":
      return createEnumNames(shape.enum, policy).parseText;
    case "message":
      return isWrapperDesc(shape.message)
        ? createWrapperTextReader(shape.message, shape.boxing === "bare", policy)
        : wellKnownTextReader(shape.message);
  }
}

function createWrapperTextReader(desc: DescMessage, isBare: boolean, policy: JsonPolicy): TextReader | undefined {
  const [value] = desc.fields;
  const read = value && createFieldTextReader(value, policy);
  return isBare || read === undefined ? read : (text) => create(desc, { value: read(text) });
}
