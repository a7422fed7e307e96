import { InvalidArgumentError } from "commander";

/**
 * Turns a parser that returns undefined for bad text into one for commander, which throws `InvalidArgumentError`.
 * `expected` completes the sentence `It must be …`.
 */
export function argument<V>(parse: (text: string) => V | undefined, expected: string): (text: string) => V {
  return (text) => {
    const value = parse(text);
    if (value === undefined) {
      throw new InvalidArgumentError(`It must be ${expected}.`);
    }
    return value;
  };
}

/** As `argument`, for a flag that can be repeated, and takes several values separated by commas. */
export function listArgument<V>(
  parse: (text: string) => V | undefined,
  expected: string,
): (text: string, former: readonly V[] | undefined) => readonly V[] {
  const parseOne = argument(parse, expected);
  return (text, former = []) => [...new Set([...former, ...text.split(",").map((part) => parseOne(part.trim()))])];
}
