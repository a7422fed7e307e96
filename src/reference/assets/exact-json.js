// @ts-check

/** A number of JSON as it is written: JavaScript's own would lose digits beyond 53 bits. */
export class ExactNumber {
  /** @param {string} text */
  constructor(text) {
    this.text = text;
  }
}

const stringOrNumber = /"(?:[^"\\]|\\.)*"|-?\d[\d.eE+-]*/g;
const marker = "\u0000number";

/**
 * Parses JSON, with an `ExactNumber` for each number. Throws a `SyntaxError` for what is no JSON.
 *
 * @param {string} text
 * @returns {unknown}
 */
export function parseExactJson(text) {
  // What is no JSON is refused as it is, before its numbers are wrapped.
  JSON.parse(text);
  const wrapped = text.replace(stringOrNumber, (token) =>
    token.startsWith('"') ? token : JSON.stringify({ [marker]: token }),
  );
  return JSON.parse(wrapped, (_, value) => (value?.[marker] === undefined ? value : new ExactNumber(value[marker])));
}

/**
 * The digits of a number that is an integer, though it be written as `3.0` or `30e-1`; undefined for one that is none.
 *
 * @param {string} text
 */
export function integerDigits(text) {
  const [, sign = "", whole, fraction = "", exponent = "0"] =
    /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/.exec(text) ?? [];
  const length = whole === undefined ? Number.NaN : whole.length + Number(exponent);
  // No integer of 64 bits is as long, unless it has an exponent to make fun of us.
  if (whole === undefined || Math.abs(length) > 400) {
    return undefined;
  }
  const digits = whole + fraction;
  const integer =
    digits
      .slice(0, Math.max(0, length))
      .padEnd(length, "0")
      .replace(/^0+(?=\d)/, "") || "0";
  return /[1-9]/.test(digits.slice(Math.max(0, length))) ? undefined : sign + integer;
}
