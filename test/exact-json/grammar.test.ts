import fc from "fast-check";
import { expect, it } from "vitest";
import { JsonNumber } from "../../src/exact-json/number.ts";
import { parseJson } from "../../src/exact-json/parse.ts";

const encoder = new TextEncoder();

/** V8's parser, whose reviver sees the source of a number. */
const parseWithSource = JSON.parse as (
  text: string,
  reviver: (key: string, value: unknown, context: { readonly source?: string }) => unknown,
) => unknown;

/** As `parseJson`, by the parser of V8. */
function parseAll(text: string): unknown {
  return parseWithSource(text, (_key, value, { source }) =>
    typeof value === "number" && source !== undefined && String(value) !== source ? new JsonNumber(source) : value,
  );
}

const digits = fc.oneof(
  fc.stringMatching(/^[1-9][0-9]{0,20}$/),
  fc.constantFrom("0", "1", "9".repeat(15), "1".repeat(16)),
);
const exponent = fc.oneof(fc.constant(""), fc.stringMatching(/^[eE][+-]?[0-9]{1,3}$/));
const number = fc
  .tuple(fc.constantFrom("", "-"), digits, fc.oneof(fc.constant(""), fc.stringMatching(/^\.[0-9]{1,20}$/)), exponent)
  .map((parts) => parts.join(""));
/** Full of what a parser could take for something else. */
const parts = ['\\"', "[", "{", "]", "}", "1.5", "e", "-0", "9".repeat(20), "\\u0041", "é"];
const string = fc.array(fc.constantFrom("\\\\", ...parts));
/**
 * Without a backslash: V8 takes a name with an escape for a former name that is the same before escapes are decoded,
 * such as `quantit\\y` for `quantit\\u0079`. Seen with Node 24.21 and 26.10.
 */
const name = fc.array(fc.constantFrom(...parts));
const blank = fc.constantFrom("", " ", "\n\t", "\r\n ");

/** JSON texts, with numbers and strings in every form that the grammar has. */
const { json } = fc.letrec<{ json: string; member: string }>((tie) => ({
  member: fc.tuple(name, tie("json")).map(([letters, value]) => `"${letters.join("")}":${value}`),
  json: fc
    .tuple(
      blank,
      fc.oneof(
        { maxDepth: 5 },
        number,
        number,
        string.map((letters) => `"${letters.join("")}"`),
        fc.constantFrom("true", "false", "null"),
        fc.array(tie("json"), { maxLength: 4 }).map((items) => `[${items.join()}]`),
        fc.array(tie("member"), { maxLength: 4 }).map((members) => `{${members.join()}}`),
      ),
      blank,
    )
    .map((parts) => parts.join("")),
}));

it("is read as V8 reads it", () => {
  fc.assert(
    fc.property(json, (text) => {
      expect(parseJson(encoder.encode(text))).toEqual(parseAll(text));
    }),
    { numRuns: 5_000 },
  );
});

it("is refused where V8 refuses it", () => {
  const damaged = fc.tuple(json, fc.nat(), fc.constantFrom("", '"', "[", "}", ",", "-", "0", ".", "e", "\\", "1"));
  fc.assert(
    fc.property(damaged, ([text, at, put]) => {
      const index = at % (text.length + 1);
      const other = text.slice(0, index) + put + text.slice(index + 1);
      let expected: unknown;
      try {
        expected = parseAll(other);
      } catch {
        expect(() => parseJson(encoder.encode(other))).toThrow();
        return;
      }
      expect(parseJson(encoder.encode(other))).toEqual(expected);
    }),
    { numRuns: 5_000 },
  );
});
