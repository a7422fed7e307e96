// A JSON number, in its parts: sign, digits before and after the point, exponent (RFC 8259, section 6).
const literal = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/;

// More digits than any int64 has: a number beyond them need not be written out to be known as too large.
const maxDigits = 40;

/**
 * Parses JSON with its integers as exact bigints, however they are written (`3`, `3.0`, `30e-1`). Other numbers, and
 * those of more than 40 digits, stay as JSON.parse reads them. Throws `SyntaxError`.
 */
export function parseExactJson(text: string): unknown {
  return parse(text, (_key, value, { source }) =>
    typeof value === "number" && source !== undefined ? (integerFromLiteral(source) ?? value) : value,
  );
}

/** Writes JSON with bigints as exact numbers. */
export function stringifyExactJson(value: unknown): string {
  return JSON.stringify(value, (_key, part: unknown) => (typeof part === "bigint" ? rawJson(String(part)) : part));
}

function integerFromLiteral(source: string): bigint | undefined {
  const [, sign = "", whole = "", fraction = "", exponent = "0"] = literal.exec(source) ?? [];
  const digits = (whole + fraction).replace(/^0+/, "");
  if (digits === "") {
    return 0n;
  }
  const shift = Number(exponent) - fraction.length;
  const kept = shift < 0 ? digits.slice(0, shift) : digits;
  if (kept.length + Math.max(shift, 0) > maxDigits) {
    return undefined;
  }
  if (!/^0*$/.test(digits.slice(kept.length)) || kept === "") {
    return undefined;
  }
  return BigInt(sign + kept + "0".repeat(Math.max(shift, 0)));
}

type Reviver = (key: string, value: unknown, context: { readonly source?: string }) => unknown;

// TypeScript's library does not know JSON.parse with source text access yet (ECMAScript proposal, shipped by V8).
const parse = JSON.parse as (text: string, reviver: Reviver) => unknown;
const { rawJSON: rawJson } = JSON as unknown as { readonly rawJSON: (text: string) => unknown };
