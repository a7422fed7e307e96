import { isInt64 } from "../../domain/ranges.ts";
import { argument, listArgument } from "./argument.ts";

/** Reads ids of pets, from a flag that can be repeated. */
export const parsePetIds = listArgument(parseInt64, "the id of a pet, such as 7");

/** Reads a stock count. */
export const parseQuantity = argument(parseInt64, "a 64-bit integer, such as 5");

/** In plain decimal; undefined for anything else. */
function parseInt64(text: string): bigint | undefined {
  const value = /^(?:0|-?[1-9][0-9]*)$/.test(text) ? BigInt(text) : undefined;
  return value !== undefined && isInt64(value) ? value : undefined;
}
