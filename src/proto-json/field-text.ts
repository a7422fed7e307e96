import { create, type DescField, type DescMessage } from "@bufbuild/protobuf";
import { isWrapperDesc } from "@bufbuild/protobuf/wkt";
import { type ValueShape, valueShape } from "./fields.ts";
import { createEnumNames, type JsonPolicy } from "./json-policy.ts";
import { type Bounds, createTextReader, type TextReader } from "./scalar.ts";
import { wellKnownTextReader } from "./well-known-types.ts";

/**
 * The reader of a field's value in a path or a query. Undefined for maps, and for messages except wrappers and the
 * well-known types that are strings in JSON.
 */
export function createFieldTextReader(field: DescField, policy: JsonPolicy): TextReader | undefined {
  return field.fieldKind === "map" ? undefined : createShapeReader(valueShape(field), policy, policy.bounds?.(field));
}

function createShapeReader(shape: ValueShape, policy: JsonPolicy, bounds?: Bounds): TextReader | undefined {
  switch (shape.kind) {
    case "scalar":
      return createTextReader(shape.scalar, shape.longAsString, bounds);
    case "enum":
      return createEnumNames(shape.enum, policy).parseText;
    case "message":
      return isWrapperDesc(shape.message)
        ? createWrapperReader(shape.message, shape.boxing === "bare", policy)
        : wellKnownTextReader(shape.message);
  }
}

function createWrapperReader(desc: DescMessage, isBare: boolean, policy: JsonPolicy): TextReader | undefined {
  const [value] = desc.fields;
  const read = value && createFieldTextReader(value, policy);
  return isBare || read === undefined ? read : (text) => create(desc, { value: read(text) });
}
