import {
  create,
  type DescEnum,
  type DescField,
  type DescMessage,
  type Message,
  type ScalarType,
} from "@bufbuild/protobuf";
import { FeatureSet_FieldPresence, isWrapperDesc } from "@bufbuild/protobuf/wkt";
import { ContentFault } from "./content-fault.ts";

/** A message as a plain object, for access by field names. */
export type Fields = Record<string, unknown>;

/** How protobuf-es holds a oneof. */
interface Oneof {
  readonly case: string | undefined;
  readonly value?: unknown;
}

/** Creates an empty message. */
export function createFields(desc: DescMessage): Fields {
  return create(desc) as Message & Fields;
}

/** Gets the value of a field; undefined when it has presence and is not set. */
export function createGetter(field: DescField): (message: Fields) => unknown {
  const { localName, oneof } = field;
  if (oneof !== undefined) {
    return (message) => {
      const held = message[oneof.localName] as Oneof;
      return held.case === localName ? held.value : undefined;
    };
  }
  if (hasPresence(field)) {
    // The prototype of a proto2 message has the defaults.
    return (message) => (Object.hasOwn(message, localName) ? message[localName] : undefined);
  }
  return (message) => message[localName];
}

/** Sets a field. It replaces the value of the field, or of its oneof. */
export function createSetter(field: DescField): (message: Fields, value: unknown) => void {
  const { localName, oneof } = field;
  if (oneof !== undefined) {
    return (message, value) => {
      message[oneof.localName] = { case: localName, value };
    };
  }
  return (message, value) => {
    message[localName] = value;
  };
}

/** Throws `ContentFault` when a field of the same oneof is set, this one included. */
export function assertOneofUnset(field: DescField, message: Fields): void {
  const held = field.oneof === undefined ? undefined : (message[field.oneof.localName] as Oneof);
  if (held?.case !== undefined) {
    const names = field.oneof?.fields.map(({ jsonName }) => jsonName).join(", ");
    throw new ContentFault(`must not be given together with another of ${names}`);
  }
}

/** Whether an unset field can be told from one that holds its default. */
export function hasPresence(field: DescField): boolean {
  return field.presence !== FeatureSet_FieldPresence.IMPLICIT;
}

/** The type of a field's value, of a list's item, or of a map's value. */
export type ValueShape =
  | { readonly kind: "scalar"; readonly scalar: ScalarType; readonly longAsString: boolean }
  | { readonly kind: "enum"; readonly enum: DescEnum }
  | { readonly kind: "message"; readonly message: DescMessage; readonly boxing: Boxing };

/**
 * How protobuf-es holds a message in a field: as a message; as the bare value, for wrappers in singular fields; or as
 * plain JSON, for a Struct.
 *
 * Source: https://github.com/bufbuild/protobuf-es/blob/main/MANUAL.md, Well-known types
 */
export type Boxing = "message" | "bare" | "json";

/** The type of a field's values. */
export function valueShape(field: DescField): ValueShape {
  if (field.message !== undefined) {
    return { kind: "message", message: field.message, boxing: boxing(field, field.message) };
  }
  if (field.enum !== undefined) {
    return { kind: "enum", enum: field.enum };
  }
  const longAsString = field.fieldKind !== "map" && field.longAsString;
  return { kind: "scalar", scalar: field.scalar as ScalarType, longAsString };
}

function boxing(field: DescField, message: DescMessage): Boxing {
  if (message.typeName === "google.protobuf.Struct") {
    return "json";
  }
  return field.fieldKind === "message" && field.oneof === undefined && isWrapperDesc(message) ? "bare" : "message";
}

/** Sets the value at the end of a path, and creates the messages on the way. */
export type PathSetter = (message: Fields, value: unknown) => void;

/** A path of fields. All but the last are singular messages. */
interface FieldPath {
  readonly leaf: DescField;
  /** The path by the fields' JSON names. */
  readonly jsonPath: string;
  /** Gets the value at the end of the path; undefined when a message on the way is not set. */
  readonly get: (message: Fields) => unknown;
  readonly set: PathSetter;
}

/** Resolves proto names that are joined by dots. Throws an `Error` that says what is wrong with them. */
export function resolveFieldPath(desc: DescMessage, path: string): FieldPath {
  const dot = path.indexOf(".");
  if (dot < 0) {
    const leaf = requireField(desc, path);
    return { leaf, jsonPath: leaf.jsonName, get: createGetter(leaf), set: createSetter(leaf) };
  }
  const branch = requireField(desc, path.slice(0, dot));
  if (branch.fieldKind !== "message" || boxing(branch, branch.message) !== "message") {
    throw new Error(`${desc.typeName}.${branch.name} is not a singular message with fields to bind`);
  }
  const { leaf, jsonPath, get, set } = resolveFieldPath(branch.message, path.slice(dot + 1));
  const getBranch = createGetter(branch);
  const enter = createEntry(branch);
  return {
    leaf,
    jsonPath: `${branch.jsonName}.${jsonPath}`,
    get: (message) => {
      const held = getBranch(message);
      return held === undefined ? undefined : get(held as Fields);
    },
    set: (message, value) => set(enter(message), value),
  };
}

/** Gets the message in a field, and creates it if there is none. */
export function createEntry(field: DescField & { fieldKind: "message" }): (message: Fields) => Fields {
  const get = createGetter(field);
  const set = createSetter(field);
  return (message) => {
    const held = get(message);
    if (held !== undefined) {
      return held as Fields;
    }
    const created = createFields(field.message);
    set(message, created);
    return created;
  };
}

/** A field by its proto name. Throws an `Error` when there is none. */
export function requireField(desc: DescMessage, name: string): DescField {
  const field = desc.fields.find((candidate) => candidate.name === name);
  if (field === undefined) {
    throw new Error(`${desc.typeName} has no field ${name}`);
  }
  return field;
}
