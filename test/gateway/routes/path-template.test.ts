import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  type PathTemplate,
  PathTemplateError,
  parsePathTemplate,
  type TemplateSegment,
  type TemplateVariable,
} from "../../../src/gateway/routes/http-rule.ts";

/** Writes a template as its source: the inverse of the parser, up to `{a}` for `{a=*}`. */
function print({ segments, variables, verb }: PathTemplate): string {
  const texts = segments.map(printSegment);
  for (const { fieldPath, start, end = segments.length } of variables) {
    texts[start] = `{${fieldPath}=${texts[start]}`;
    texts[end - 1] += "}";
  }
  return `/${texts.join("/")}${verb === "" ? "" : `:${verb}`}`;
}

function printSegment(segment: TemplateSegment): string {
  return segment.kind === "literal" ? segment.text : segment.kind === "any" ? "*" : "**";
}

describe("a path template", () => {
  function check(text: string, expected: string, fieldPaths: string[] = []): void {
    const parsed = parsePathTemplate(text);
    expect(print(parsed)).toBe(expected);
    expect(parsed.variables.map(({ fieldPath }) => fieldPath)).toEqual(fieldPaths);
  }

  it("is made of literals, wildcards, variables and a verb", () => {
    check("/v1/shapes", "/v1/shapes");
    check("/v1/*/x", "/v1/*/x");
    check("/**", "/**");
    check("/v1/{id}", "/v1/{id=*}", ["id"]);
    check("/v1/{a.b_1.c}", "/v1/{a.b_1.c=*}", ["a.b_1.c"]);
    check("/v1/{name=shelves/*/books/*}", "/v1/{name=shelves/*/books/*}", ["name"]);
    check("/{x}/{y=**}:verb", "/{x=*}/{y=**}:verb", ["x", "y"]);
    check("/a%20b/~c.d-e_f!$&'()+,;@", "/a%20b/~c.d-e_f!$&'()+,;@");
  });

  it("tells a variable of one segment from one of several", () => {
    const singles = ["{a}", "{a=*}", "{a=b}"].map((text) => parsePathTemplate(`/${text}`).variables[0]?.isSingle);
    const several = ["{a=**}", "{a=b/*}", "{a=*/*}"].map(
      (text) => parsePathTemplate(`/${text}`).variables[0]?.isSingle,
    );
    expect([singles, several]).toEqual([
      [true, true, true],
      [false, false, false],
    ]);
  });
});

describe("a malformed template", () => {
  it.each([
    ["", 0],
    ["v1", 0],
    ["/", 1],
    ["//a", 1],
    ["/a/", 3],
    ["/a:", 3],
    ["/a:b:c", 4],
    ["/a:b/c", 4],
    ["/a?b", 2],
    ["/a b", 2],
    ["/a%2", 2],
    ["/***", 3],
    ["/**/a", 4],
    ["/{a=**}/b", 8],
    ["/{a=**/b}", 7],
    ["/{}", 2],
    ["/{a", 3],
    ["/{a=}", 4],
    ["/{a.}", 4],
    ["/{1a}", 2],
    ["/{a={b}}", 4],
    ["/{a}b", 4],
    ["/a{b}", 2],
    ["/{a}}", 4],
    ["/a*", 2],
  ])("%j is refused at position %i", (text, position) => {
    expect(() => parsePathTemplate(text)).toThrow(PathTemplateError);
    expect(() => parsePathTemplate(text)).toThrow(`at position ${position}`);
  });
});

const literal = fc.stringMatching(/^(?:[A-Za-z0-9._~-]|%[0-9A-F]{2}){1,5}$/);
const identifier = fc.stringMatching(/^[a-z_][a-z0-9_]{0,4}$/);
const plain = fc.oneof(
  literal.map((text): TemplateSegment => ({ kind: "literal", text })),
  fc.constant<TemplateSegment>({ kind: "any" }),
);

/** Runs of segments, each within a variable or not. */
const templates: fc.Arbitrary<PathTemplate> = fc
  .record({
    runs: fc.array(
      fc.record({
        segments: fc.array(plain, { minLength: 1, maxLength: 3 }),
        names: fc.option(fc.array(identifier, { minLength: 1, maxLength: 3 }), { nil: undefined }),
      }),
      { minLength: 1, maxLength: 4 },
    ),
    hasRest: fc.boolean(),
    verb: fc.oneof(fc.constant(""), literal),
  })
  .map(({ runs, hasRest, verb }) => {
    const segments: TemplateSegment[] = [];
    const variables: TemplateVariable[] = [];
    for (const [index, run] of runs.entries()) {
      const start = segments.length;
      const endsInRest = hasRest && index === runs.length - 1;
      segments.push(...run.segments, ...(endsInRest ? [{ kind: "rest" } as const] : []));
      const end = endsInRest ? undefined : segments.length;
      if (run.names !== undefined) {
        variables.push({ fieldPath: run.names.join("."), start, end, isSingle: end === start + 1 });
      }
    }
    return { segments, variables, verb };
  });

it("reads every template as it was written", () => {
  fc.assert(
    fc.property(templates, (template) => {
      expect(parsePathTemplate(print(template))).toEqual(template);
    }),
  );
});

it("refuses any other text with nothing but a PathTemplateError", () => {
  const text = fc.string({ unit: fc.constantFrom(..."/*{}=:.%aB1 é".split("")), maxLength: 12 });
  fc.assert(
    fc.property(text, (source) => {
      try {
        const printed = print(parsePathTemplate(source));
        expect(print(parsePathTemplate(printed))).toBe(printed);
      } catch (error) {
        expect(error).toBeInstanceOf(PathTemplateError);
      }
    }),
  );
});
