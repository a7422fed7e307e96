import type { DescEnum } from "@bufbuild/protobuf";
import { ContentFault } from "./content-fault.ts";
import type { JsonPolicy } from "./json-policy.ts";

/** The names of an enum's values under a policy, both ways. */
export interface EnumNames {
  /** Throws `ContentFault` for anything but a name, exactly as the policy gives it. */
  readonly parse: (text: unknown) => number;
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
  return {
    parse: (text) => {
      const number = typeof text === "string" ? numbers.get(text) : undefined;
      if (number === undefined) {
        throw new ContentFault(reason);
      }
      return number;
    },
    name: (value) => names.get(value),
  };
}

/** The names to choose from, without the `_UNSPECIFIED` that AIP-126 asks every enum to begin with. */
function hint(desc: DescEnum, policy: JsonPolicy): string {
  const named = desc.values.filter((value) => !value.name.endsWith("_UNSPECIFIED"));
  return named.flatMap((value) => policy.enumName(value) ?? []).join(", ");
}
