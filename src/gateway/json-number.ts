import { parseInteger } from "../exact-json/number.ts";
import type { IntegerType } from "./integer-type.ts";

/**
 * The integer that a JSON number stands for, exactly, by the number or by its source. Undefined when it is none, or
 * outside the type.
 */
export function integerFromJsonNumber(number: number | string, type: IntegerType): bigint | undefined {
  const value = Number.isSafeInteger(number) ? BigInt(number) : parseInteger(String(number));
  return value === undefined || value < type.min || value > type.max ? undefined : value;
}
