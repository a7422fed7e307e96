import type { DescEnumValue, DescField } from "@bufbuild/protobuf";
import type { Bounds } from "../fields/scalar.ts";

/** How the gateway's JSON differs from ProtoJSON. */
export interface JsonPolicy {
  /**
   * How 64-bit integers are written. With `number` they are exact JSON numbers, and quoted numbers are refused for
   * every numeric type; with `string` they are quoted, and numbers are read with or without quotes, as in ProtoJSON.
   */
  readonly int64: "number" | "string";
  /**
   * The only name of an enum value, in bodies, paths and queries. Undefined for a value without one, which is not read,
   * and written as a number.
   */
  readonly enumName: (value: DescEnumValue) => string | undefined;
  /**
   * Whether enum values are also read by their numbers, as in ProtoJSON: in bodies as JSON numbers, in paths and
   * queries in decimal. For an open enum this includes unknown numbers. By default numbers are refused.
   */
  readonly enumNumbers?: true;
  /**
   * The least and greatest value of an integer field by its rules, for error messages. Each is undefined where the type
   * alone bounds it.
   */
  readonly bounds?: (field: DescField) => Bounds;
  /** Whether fields without presence are written when they hold their default. */
  readonly implicitFields: "always" | "unless-default";
}
