import {
  type DescEnum,
  type DescField,
  type DescMessage,
  isFieldSet,
  type Message,
  type Registry,
} from "@bufbuild/protobuf";
import { type Any, AnySchema, anyUnpack, isWrapperDesc } from "@bufbuild/protobuf/wkt";
import { type Boxing, createGetter, type Fields, hasPresence, valueShape } from "./fields.ts";
import { createEnumNames, type JsonPolicy } from "./json-policy.ts";
import { createScalarWriter, type JsonWriter } from "./scalar.ts";
import { hasSpecialJson, wellKnownWriter } from "./well-known-types.ts";

/**
 * The writers of messages, each compiled once, on first use. They write text directly, so that 64-bit integers stay
 * exact. An unset field with presence is left out. An enum value without a name is written as a number.
 */
export class JsonWriters {
  readonly #policy: JsonPolicy;
  readonly #registry: Registry | undefined;
  readonly #writers = new Map<DescMessage, JsonWriter>();

  constructor(policy: JsonPolicy, registry: Registry | undefined) {
    this.#policy = policy;
    this.#registry = registry;
  }

  /** The writer of a message type. Throws an `Error` when the policy does not suit one of its enums. */
  message(desc: DescMessage): JsonWriter {
    return this.#writers.get(desc) ?? this.#compileMessage(desc);
  }

  /** The writer of a field's value, or of the whole list or map. */
  field(field: DescField): JsonWriter {
    const write = this.#value(field);
    if (field.fieldKind === "list") {
      return (value) => writeList(value as readonly unknown[], write);
    }
    return field.fieldKind === "map" ? (value) => writeMap(value as Fields, write) : write;
  }

  /** The writer of a field. It takes the message that has the field. An unset field becomes `null`. */
  fieldOf(field: DescField): JsonWriter {
    const write = this.field(field);
    const get = createGetter(field);
    return (message) => {
      const value = get(message as Fields);
      return value === undefined ? "null" : write(value);
    };
  }

  #compileMessage(desc: DescMessage): JsonWriter {
    const special = this.#special(desc);
    if (special !== undefined) {
      this.#writers.set(desc, special);
      return special;
    }
    const properties: Property[] = [];
    const writer = createMessageWriter(properties);
    // The writer is registered before its fields are compiled, so that recursive messages find it.
    this.#writers.set(desc, writer);
    for (const field of desc.fields) {
      properties.push(createProperty(field, this.field(field), this.#policy));
    }
    return writer;
  }

  #special(desc: DescMessage): JsonWriter | undefined {
    if (desc.typeName === AnySchema.typeName) {
      return (any) => this.#writeAny(any as Any);
    }
    const [value] = desc.fields;
    if (isWrapperDesc(desc) && value !== undefined) {
      const write = this.field(value);
      return (wrapper) => write((wrapper as Fields).value);
    }
    return wellKnownWriter(desc);
  }

  #value(field: DescField): JsonWriter {
    const shape = valueShape(field);
    switch (shape.kind) {
      case "scalar":
        return createScalarWriter(shape.scalar, this.#policy);
      case "enum":
        return createEnumWriter(shape.enum, this.#policy);
      case "message":
        return this.#boxed(shape.message, shape.boxing);
    }
  }

  #boxed(desc: DescMessage, boxing: Boxing): JsonWriter {
    if (boxing === "json") {
      return JSON.stringify;
    }
    if (boxing === "bare" && desc.fields[0] !== undefined) {
      return this.field(desc.fields[0]);
    }
    return this.message(desc);
  }

  #writeAny(any: Any): string {
    if (any.typeUrl === "") {
      return "{}";
    }
    const message = this.#registry && anyUnpack(any, this.#registry);
    const desc = message && this.#registry?.getMessage(message.$typeName);
    if (message === undefined || desc === undefined) {
      throw new Error(`the type of an Any is not in the registry: ${any.typeUrl}`);
    }
    const type = `{"@type":${JSON.stringify(any.typeUrl)}`;
    const content = this.message(desc)(message);
    if (hasSpecialJson(desc)) {
      return `${type},"value":${content}}`;
    }
    return content === "{}" ? `${type}}` : `${type},${content.slice(1)}`;
  }
}

/** Writes a field with its name. Returns an empty text if the field is left out. */
type Property = (message: Fields) => string;

function createProperty(field: DescField, write: JsonWriter, { implicitFields }: JsonPolicy): Property {
  const name = `${JSON.stringify(field.jsonName)}:`;
  const { localName } = field;
  if (hasPresence(field)) {
    const get = createGetter(field);
    return (message) => {
      const value = get(message);
      return value === undefined ? "" : name + write(value);
    };
  }
  if (implicitFields === "always") {
    return (message) => name + write(message[localName]);
  }
  return (message) => (isFieldSet(message as Message & Fields, field) ? name + write(message[localName]) : "");
}

function createMessageWriter(properties: readonly Property[]): JsonWriter {
  return (message) => {
    let text = "";
    for (const property of properties) {
      const written = property(message as Fields);
      text += written === "" || text === "" ? written : `,${written}`;
    }
    return `{${text}}`;
  };
}

function writeList(items: readonly unknown[], write: JsonWriter): string {
  let text = "";
  for (const item of items) {
    text += text === "" ? write(item) : `,${write(item)}`;
  }
  return `[${text}]`;
}

function writeMap(entries: Fields, write: JsonWriter): string {
  const members = Object.keys(entries).map((key) => `${JSON.stringify(key)}:${write(entries[key])}`);
  return `{${members.join(",")}}`;
}

function createEnumWriter(desc: DescEnum, policy: JsonPolicy): JsonWriter {
  if (desc.typeName === "google.protobuf.NullValue") {
    return () => "null";
  }
  const names = createEnumNames(desc, policy);
  const written = new Map(desc.values.map(({ number }) => [number, JSON.stringify(names.name(number) ?? number)]));
  return (value) => written.get(value as number) ?? String(value);
}
