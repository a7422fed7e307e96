import type { DescEnumValue, DescField } from "@bufbuild/protobuf";
import type { Bounds } from "./integer-type.ts";

/** Where the gateway's JSON departs from ProtoJSON, or may. */
export interface JsonPolicy {
  /**
   * How 64-bit integers are written. With `number` they are exact JSON numbers, and quoted numbers are refused for
   * every numeric type; with `string` they are quoted, and numbers are read with or without quotes, as in ProtoJSON.
   */
  readonly int64: "number" | "string";
  /**
   * The name of an enum value: in bodies, paths and queries alike, and the only one that is read. Undefined for a value
   * that clients are not offered: it is not read, and written as a number.
   */
  readonly enumName: (value: DescEnumValue) => string | undefined;
  /**
   * Whether enum values are read by their numbers, too, as ProtoJSON has it: in bodies as JSON numbers, in paths and
   * queries in decimal. Of an open enum that goes for values that it does not have, which are written so. By default
   * they are not.
   */
  readonly enumNumbers?: true;
  /**
   * The least and greatest value that the rules of an integer field allow, for messages that tell its range; either is
   * undefined where its type alone bounds it.
   */
  readonly bounds?: (field: DescField) => Bounds;
  /** Whether fields without presence are written when they hold their default. */
  readonly implicitFields: "always" | "unless-default";
}
