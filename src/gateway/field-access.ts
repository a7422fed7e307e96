import { create, type DescField, type DescMessage, type Message } from "@bufbuild/protobuf";
import { FeatureSet_FieldPresence } from "@bufbuild/protobuf/wkt";
import { ContentFault } from "./content-fault.ts";

/** A message as a plain object, for access by the names that descriptors give. */
export type Fields = Record<string, unknown>;

/** How protobuf-es holds a oneof. */
interface Oneof {
  readonly case: string | undefined;
  readonly value?: unknown;
}

/** A new message, by its descriptor. */
export function createFields(desc: DescMessage): Fields {
  return create(desc) as Message & Fields;
}

/** The value of a field; undefined when it has presence and is not set. */
export function createGetter(field: DescField): (message: Fields) => unknown {
  const { localName, oneof } = field;
  if (oneof !== undefined) {
    return (message) => {
      const held = message[oneof.localName] as Oneof;
      return held.case === localName ? held.value : undefined;
    };
  }
  if (hasPresence(field)) {
    // Of a proto2 message the prototype holds the defaults.
    return (message) => (Object.hasOwn(message, localName) ? message[localName] : undefined);
  }
  return (message) => message[localName];
}

/** Sets a field, in place of whatever it or its oneof held. */
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

/** Throws `ContentFault` when the field is in a oneof of which a field is set, be it this one. */
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
