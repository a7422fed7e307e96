import { parseInteger } from "../exact-json/number.ts";
import type { IntegerType } from "./integer-type.ts";

/** The integer that a JSON number stands for, exactly. Undefined when it is none, or outside the type. */
export function integerFromJsonNumber(source: string, type: IntegerType): bigint | undefined {
  const value = parseInteger(source);
  return value === undefined || value < type.min || value > type.max ? undefined : value;
}
