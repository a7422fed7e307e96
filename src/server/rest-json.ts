import { type DescEnumValue, type DescField, getOption } from "@bufbuild/protobuf";
import { field as fieldRules } from "@bufbuild/protovalidate/gen/buf/validate/validate_pb.js";
import type { JsonPolicy } from "../proto-json/json-policy.ts";
import type { Bounds } from "../proto-json/scalar.ts";

/**
 * The JSON of REST: exact numbers, short enum names in lower case, every field present. Source: docs/contract.md#rest
 */
export const restJson: JsonPolicy = {
  int64: "number",
  enumName: shortEnumName,
  bounds: ruleBounds,
  implicitFields: "always",
};

/** The bounds of a field in its proto. Only 32-bit integers have any. */
function ruleBounds(field: DescField): Bounds {
  const { type } = getOption(field, fieldRules);
  if (type.case !== "int32") {
    return {};
  }
  const { greaterThan, lessThan } = type.value;
  return {
    min: greaterThan.case === "gte" ? BigInt(greaterThan.value) : undefined,
    max: lessThan.case === "lte" ? BigInt(lessThan.value) : undefined,
  };
}

/** The name of an enum value over REST: in lower case, without the enum's name. `UNSPECIFIED` has none. */
function shortEnumName({ localName, number }: DescEnumValue): string | undefined {
  return number === 0 ? undefined : localName.toLowerCase();
}
