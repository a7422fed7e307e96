import type { DescEnum, DescField, DescMessage, ScalarType } from "@bufbuild/protobuf";
import { isWrapperDesc } from "@bufbuild/protobuf/wkt";

/** What one value of a field is: the field's own, an item's of a list, or an entry's of a map. */
export type ValueShape =
  | { readonly kind: "scalar"; readonly scalar: ScalarType; readonly longAsString: boolean }
  | { readonly kind: "enum"; readonly enum: DescEnum }
  | { readonly kind: "message"; readonly message: DescMessage; readonly boxing: Boxing };

/**
 * How a message stands in its field: as a message; as its bare value, as wrappers do in singular fields; or as plain
 * JSON, as a Struct does in any field.
 *
 * Source: https://github.com/bufbuild/protobuf-es/blob/main/MANUAL.md, Well-known types
 */
export type Boxing = "message" | "bare" | "json";

/** The shape of a field's values. */
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
