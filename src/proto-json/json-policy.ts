import type { DescEnum, DescEnumValue, DescField } from "@bufbuild/protobuf";
import { ContentFault } from "./content-fault.ts";
import { type Bounds, int32, integerFromJsonNumber, numberSource } from "./scalar.ts";

/**
 * What the JSON of messages leaves open. All else is ProtoJSON.
 *
 * Source: https://protobuf.dev/programming-guides/json/
 */
export interface JsonPolicy {
  /**
   * How 64-bit integers are written. With `number` they are exact JSON numbers, and quoted numbers are refused for
   * every numeric type; with `string` they are quoted, and numbers are read with or without quotes, as in ProtoJSON.
   */
  readonly int64: "number" | "string";
  /**
   * The only name of an enum value, in bodies, paths and queries. Undefined for a value without a name: it is not read
   * by a name, and is written as a number.
   */
  readonly enumName: (value: DescEnumValue) => string | undefined;
  /**
   * Whether enum values are also read by their numbers, as in ProtoJSON: in bodies as JSON numbers, in paths and
   * queries in decimal. For an open enum this includes unknown numbers. By default numbers are refused.
   */
  readonly enumNumbers?: true;
  /**
   * Whether `null` stands for an unset field, as in ProtoJSON. By default it is refused. In `Value` and `NullValue` it is
   * a value in either case, and as an item of a list or a value of a map it is refused in either case.
   */
  readonly nullIsUnset?: true;
  /**
   * The least and greatest value of an integer field by its rules, for error messages. Each is undefined where the type
   * alone bounds it.
   */
  readonly bounds?: (field: DescField) => Bounds;
  /** Whether faults name a field by its proto name. By default they name it as the client does. */
  readonly protoNamesInFaults?: true;
  /** Whether fields without presence are written when they hold their default. */
  readonly implicitFields: "always" | "unless-default";
}

/** ProtoJSON. */
export const protoJson: JsonPolicy = {
  int64: "string",
  enumName: ({ name }) => name,
  enumNumbers: true,
  nullIsUnset: true,
  protoNamesInFaults: true,
  implicitFields: "unless-default",
};

/** Converts between an enum's numbers and its names under a policy. */
interface EnumNames {
  /** Reads a JSON value. Throws `ContentFault` unless the policy allows it. */
  readonly parse: (json: unknown) => number;
  /** Reads the text of a path or a query, as `parse` does. */
  readonly parseText: (text: string) => number;
  /** The name; undefined for a number that has none. */
  readonly name: (value: number) => string | undefined;
}

/** Throws an `Error` when the policy gives one name to two values. */
export function createEnumNames(desc: DescEnum, policy: JsonPolicy): EnumNames {
  const numbers = new Map<string, number>();
  const names = new Map<number, string>();
  for (const value of desc.values) {
    const name = policy.enumName(value);
    if (name === undefined) {
      continue;
    }
    const present = numbers.get(name);
    if (present !== undefined && present !== value.number) {
      throw new Error(`the JSON policy gives the name "${name}" to two values of ${desc.typeName}`);
    }
    numbers.set(name, value.number);
    names.set(value.number, names.get(value.number) ?? name);
  }
  const reason = `must be one of ${hint(desc, policy)}`;
  const isKnown = (number: number) => desc.open || desc.value[number] !== undefined;
  const byNumber = (number: bigint | undefined) =>
    policy.enumNumbers && number !== undefined && isKnown(Number(number)) ? Number(number) : undefined;
  const orFault = (number: number | undefined) => {
    if (number === undefined) {
      throw new ContentFault(reason);
    }
    return number;
  };
  return {
    parse: (json) => orFault(typeof json === "string" ? numbers.get(json) : byNumber(enumNumber(numberSource(json)))),
    parseText: (text) => orFault(numbers.get(text) ?? byNumber(decimal.test(text) ? enumNumber(text) : undefined)),
    name: (value) => names.get(value),
  };
}

const decimal = /^(?:0|-?[1-9][0-9]{0,9})$/;

/** An enum number is an int32. */
function enumNumber(source: string | undefined): bigint | undefined {
  return source === undefined ? undefined : integerFromJsonNumber(source, int32);
}

/** The allowed names, without `_UNSPECIFIED`, with which every enum begins. Source: AIP-126. */
function hint(desc: DescEnum, policy: JsonPolicy): string {
  const named = desc.values.filter((value) => !value.name.endsWith("_UNSPECIFIED"));
  return named.flatMap((value) => policy.enumName(value) ?? []).join(", ");
}
