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
