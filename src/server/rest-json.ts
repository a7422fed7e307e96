import type { DescEnumValue } from "@bufbuild/protobuf";
import type { JsonPolicy } from "../gateway/json-policy.ts";

/**
 * The JSON of REST: exact numbers, short names in lower case, and every field there. Source: the contract, Operations.
 */
export const restJson: JsonPolicy = { int64: "number", enumName: shortEnumName, implicitFields: "always" };

/** The name of an enum value in REST: without the enum's name before it, and in lower case. `UNSPECIFIED` has none. */
function shortEnumName({ localName, number }: DescEnumValue): string | undefined {
  return number === 0 ? undefined : localName.toLowerCase();
}
