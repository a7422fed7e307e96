// @ts-check

/** A JSON number as text. A JavaScript number would lose digits beyond 53 bits. */
export class ExactNumber {
  /** @param {string} text */
  constructor(text) {
    this.text = text;
  }
}

const stringOrNumber = /"(?:[^"\\]|\\.)*"|-?\d[\d.eE+-]*/g;
const marker = "\u0000number";

/**
 * Parses JSON, with an `ExactNumber` for each number. Throws a `SyntaxError` for anything else.
 *
 * @param {string} text
 * @returns {unknown}
 */
export function parseExactJson(text) {
  // Refuses bad JSON before its numbers are wrapped.
  JSON.parse(text);
  const wrapped = text.replace(stringOrNumber, (token) =>
    token.startsWith('"') ? token : JSON.stringify({ [marker]: token }),
  );
  return JSON.parse(wrapped, (_, value) => (value?.[marker] === undefined ? value : new ExactNumber(value[marker])));
}

/**
 * The digits of an integer, even if it is written as `3.0` or `30e-1`. Undefined for a number that is no integer.
 *
 * @param {string} text
 */
export function integerDigits(text) {
  const [, sign = "", whole, fraction = "", exponent = "0"] =
    /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/.exec(text) ?? [];
  const length = whole === undefined ? Number.NaN : whole.length + Number(exponent);
  // No 64-bit integer has as many digits. A huge exponent would take as much memory.
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
