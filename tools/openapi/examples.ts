import { type DescField, getOption, hasOption } from "@bufbuild/protobuf";
import { example } from "../../gen/petstore/options/v1/options_pb.ts";

/** Whether a field may be absent from its message. */
export type MayBeAbsent = (field: DescField) => boolean;

/**
 * An example of a message with these fields in the JSON of REST, made from the fields' examples. Throws an `Error` if a
 * field has no example and may not be absent: the message's example would not be valid.
 */
export function exampleOf(fields: readonly DescField[], mayBeAbsent: MayBeAbsent): Readonly<Record<string, unknown>> {
  const shown = fields.filter((field) => hasExample(field) || !mayBeAbsent(field));
  return Object.fromEntries(shown.map((field) => [field.jsonName, fieldExample(field, mayBeAbsent)]));
}

/** A message is composed of its fields' examples, unless it is marked `optional`. */
function hasExample(field: DescField): boolean {
  return hasOption(field, example) || (field.message !== undefined && !field.proto.proto3Optional);
}

/** An example of a field's value. Throws an `Error` when its proto has none, or one that is not JSON. */
export function fieldExample(field: DescField, mayBeAbsent: MayBeAbsent = () => false): unknown {
  if (!hasOption(field, example)) {
    return composedExample(field, mayBeAbsent);
  }
  try {
    return JSON.parse(getOption(field, example));
  } catch (cause) {
    throw new Error(`${field.toString()}: the example is not JSON`, { cause });
  }
}

function composedExample(field: DescField, mayBeAbsent: MayBeAbsent): unknown {
  if (field.message === undefined || field.fieldKind === "map") {
    throw new Error(`${field.toString()} has no example`);
  }
  const message = exampleOf(field.message.fields, mayBeAbsent);
  return field.fieldKind === "list" ? [message] : message;
}
