/**
 *     number = [ "-" ] int [ "." 1*DIGIT ] [ ( "e" | "E" ) [ "+" | "-" ] 1*DIGIT ]
 *     int    = "0" | ( digit1-9 *DIGIT )
 *
 * Source: RFC 8259, 6.
 */
const number = /^(-?)(0|[1-9][0-9]*)(?:\.([0-9]+))?(?:[eE]([+-]?[0-9]+))?$/;

/** Whether the text is a JSON number. */
export function isNumber(text: string): boolean {
  return number.test(text);
}

/**
 * The integer of a JSON number, computed from its digits and never through a double: `3.0`, `30e-1` and `-0` are
 * integers. Undefined when it is not an integer, or has more digits than any 64-bit integer. `1e999999999` takes no
 * longer than `1`.
 */
export function parseInteger(source: string): bigint | undefined {
  const match = number.exec(source);
  if (match === null) {
    return undefined;
  }
  const [, sign = "", int = "", fraction = "", exponent = "0"] = match;
  const magnitude = shiftDigits(int + fraction, Number(exponent) - fraction.length);
  return magnitude !== undefined && sign === "-" ? -magnitude : magnitude;
}

/** The digits of the largest 64-bit integer, 2^64 - 1. */
const maxDigits = 20;

/** `digits` times ten to the `exponent`; undefined when it is not an integer, or has too many digits. */
function shiftDigits(digits: string, exponent: number): bigint | undefined {
  let start = 0;
  while (digits[start] === "0") {
    start++;
  }
  if (start === digits.length) {
    return 0n;
  }
  let end = digits.length;
  while (digits[end - 1] === "0") {
    end--;
  }
  const zeros = exponent + digits.length - end;
  if (zeros < 0 || end - start + zeros > maxDigits) {
    return undefined;
  }
  return BigInt(digits.slice(start, end) + "0".repeat(zeros));
}

/** A JSON number that a double cannot represent exactly as it is written. */
export class JsonNumber {
  /** The text of the number, such as `9223372036854775807` or `3.0`. */
  readonly source: string;

  constructor(source: string) {
    this.source = source;
  }
}

/**
 * Creates a value that `JSON.stringify` writes as this text. Throws `SyntaxError` unless it is a JSON primitive. V8 has
 * it, TypeScript's library lacks it. Source: https://tc39.es/proposal-json-parse-with-source/
 */
export const { rawJSON: rawJson } = JSON as unknown as { readonly rawJSON: (text: string) => unknown };
