import { parseInteger } from "../exact-json/number.ts";
import type { IntegerType } from "./integer-type.ts";

/** A number of a JSON text whose source a double could not give back. */
export class JsonNumber {
  /** As it stands in the text, such as `9223372036854775807` or `3.0`. */
  readonly source: string;

  constructor(source: string) {
    this.source = source;
  }
}

/** The integer that a JSON number stands for, exactly. Undefined when it is none, or outside the type. */
export function integerFromJsonNumber(source: string, type: IntegerType): bigint | undefined {
  const value = parseInteger(source);
  return value === undefined || value < type.min || value > type.max ? undefined : value;
}
