import { type DescField, type DescMessage, getOption, hasOption } from "@bufbuild/protobuf";
import { example } from "../../gen/petstore/options/v1/options_pb.ts";

/**
 * An example of a message in the JSON of REST, made from the examples of its fields. Throws an `Error` if a field has
 * none: an incomplete example would not be valid.
 */
export function exampleOf(desc: DescMessage): Readonly<Record<string, unknown>> {
  return Object.fromEntries(desc.fields.map((field) => [field.jsonName, fieldExample(field)]));
}

/** An example of a field's value. Throws an `Error` when its proto has none, or one that is not JSON. */
export function fieldExample(field: DescField): unknown {
  if (!hasOption(field, example)) {
    return composedExample(field);
  }
  try {
    return JSON.parse(getOption(field, example));
  } catch (cause) {
    throw new Error(`${field.toString()}: the example is not JSON`, { cause });
  }
}

function composedExample(field: DescField): unknown {
  if (field.message === undefined || field.fieldKind === "map") {
    throw new Error(`${field.toString()} has no example`);
  }
  const message = exampleOf(field.message);
  return field.fieldKind === "list" ? [message] : message;
}
