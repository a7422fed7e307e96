import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { parsePathTemplate } from "../../../src/gateway/routes/http-rule.ts";
import { RouteTrie } from "../../../src/gateway/routes/route-trie.ts";

/** Routes such as `GET /v1/{id}`, each leading to its own text. */
function createTrie(routes: readonly string[]): RouteTrie<string> {
  const trie = new RouteTrie<string>();
  for (const route of routes) {
    const [method = "", template = ""] = route.split(" ");
    trie.add(method, parsePathTemplate(template), route);
  }
  return trie;
}

describe("a path and a method", () => {
  const trie = createTrie([
    "GET /v1/shapes",
    "POST /v1/shapes",
    "GET /v1/shapes/{id}",
    "GET /v1/shapes/mine",
    "DELETE /v1/shapes/{id}",
    "POST /v1/shapes/{id}:cancel",
    "GET /v1/{name=shapes/*/parts/*}",
    "GET /v1/{any}/parts/first",
    "GET /v1/files/{path=**}",
    "GET /v1/files/{path=**}:stat",
    "GET /v1/files/one/{x}",
    "* /v1/anything",
    "PUT /v1/anything",
    "HEAD /v1/headed",
    "GET /v1/headed",
    "OPTIONS /v1/optional",
  ]);

  /** `expected` is a route, or the methods that lead somewhere, sorted. */
  function check(request: string, expected: string | string[]): void {
    const [method = "", path = ""] = request.split(" ");
    const match = trie.match(method, path);
    expect(match.route ?? [...(match.methods?.keys() ?? [])].sort(), request).toEqual(expected);
  }

  it("lead to the most specific route that has both", () => {
    check("GET /v1/shapes", "GET /v1/shapes");
    check("GET /v1/shapes/7", "GET /v1/shapes/{id}");
    check("GET /v1/shapes/mine", "GET /v1/shapes/mine");
    check("DELETE /v1/shapes/mine", "DELETE /v1/shapes/{id}");
    check("GET /v1/shapes/7/parts/8", "GET /v1/{name=shapes/*/parts/*}");
    check("GET /v1/files/one/two", "GET /v1/files/one/{x}");
  });

  it("are tried again with less specific routes when a specific one leads nowhere", () => {
    check("GET /v1/files/one", "GET /v1/files/{path=**}");
    check("GET /v1/files/one/two/three", "GET /v1/files/{path=**}");
    check("GET /v1/files/parts/first", "GET /v1/files/{path=**}");
    check("GET /v1/other/parts/first", "GET /v1/{any}/parts/first");
  });

  it("match ** with any number of segments, and with none", () => {
    check("GET /v1/files", "GET /v1/files/{path=**}");
    check("GET /v1/files/a/b/c", "GET /v1/files/{path=**}");
    check("GET /v1/files:stat", "GET /v1/files/{path=**}:stat");
    check("GET /v1/files/a/b:stat", "GET /v1/files/{path=**}:stat");
  });

  it("lead to a verb before a segment with a colon", () => {
    check("POST /v1/shapes/7:cancel", "POST /v1/shapes/{id}:cancel");
    check("POST /v1/shapes/urn:7:cancel", "POST /v1/shapes/{id}:cancel");
    check("GET /v1/shapes/7:cancel", ["POST"]);
    check("GET /v1/shapes/7:other", "GET /v1/shapes/{id}");
    check("GET /v1/shapes/7:other", "GET /v1/shapes/{id}");
    check("GET /v1/shapes/7:", "GET /v1/shapes/{id}");
    check("GET /v1/shapes:cancel", []);
    check("PUT /v1/shapes/7:cancel", ["POST"]);
  });

  it("lead nowhere where the segment before a verb is empty", () => {
    check("POST /v1/shapes/:cancel", []);
    check("GET /v1/shapes/:cancel", []);
    check("GET /v1/files/:stat", []);
    check("GET /v1/shapes/:other", "GET /v1/shapes/{id}");
    check("GET /v1/shapes/:", "GET /v1/shapes/{id}");
  });

  it("compare paths as sent", () => {
    check("GET /v1/%73hapes", []);
    check("GET /v1/Shapes", []);
    check("GET //v1/shapes", []);
    check("GET /v1//shapes", []);
    check("GET /v1/./shapes", []);
    check("GET /v1/shapes/", []);
    check("GET /v1/shapes/7/", []);
    check("GET /v1/files/", []);
    check("GET /v1/files//a", []);
    check("GET /", []);
    check("GET v1/shapes", []);
    check("OPTIONS *", []);
    check("GET ", []);
  });

  it("lead HEAD to GET, unless it has a route of its own", () => {
    check("HEAD /v1/shapes/7", "GET /v1/shapes/{id}");
    check("HEAD /v1/headed", "HEAD /v1/headed");
  });

  it("lead any method to a route that leaves it open", () => {
    check("BREW /v1/anything", "* /v1/anything");
    check("OPTIONS /v1/anything", "* /v1/anything");
    check("PUT /v1/anything", "PUT /v1/anything");
  });

  it("give the methods of all patterns that the path matches", () => {
    check("PUT /v1/shapes", ["GET", "POST"]);
    check("PUT /v1/shapes/mine", ["DELETE", "GET"]);
    check("get /v1/shapes", ["GET", "POST"]);
    check("OPTIONS /v1/shapes", ["GET", "POST"]);
    check("OPTIONS /v1/optional", "OPTIONS /v1/optional");
  });
});

it("gives back the route that stands where another is added", () => {
  const trie = createTrie(["GET /v1/{id}"]);
  expect(trie.add("GET", parsePathTemplate("/{v=v1/*}"), "other")).toBe("GET /v1/{id}");
  expect(trie.add("GET", parsePathTemplate("/v1/{id}:verb"), "other")).toBeUndefined();
  expect(trie.add("PUT", parsePathTemplate("/v1/{id}"), "other")).toBeUndefined();
});

/** A pattern as a regular expression, and its rank: of two that match, the one with the lower text is more specific. */
function naivePattern(template: string): { pattern: RegExp; rank: string } {
  const { segments, verb } = parsePathTemplate(template);
  let source = "";
  let rank = verb === "" ? "1" : "0";
  for (const segment of segments) {
    source += segment.kind === "literal" ? `/${segment.text}` : segment.kind === "any" ? "/[^/]+" : "(?:/[^/]+)*";
    rank += segment.kind === "literal" ? "a" : segment.kind === "any" ? "b" : "c";
  }
  return { pattern: new RegExp(`^${source}${verb === "" ? "" : `:${verb}`}$`), rank };
}

function naiveMatch(templates: readonly string[], path: string): string | undefined {
  const patterns = templates.map((template) => ({ template, ...naivePattern(template) }));
  const withSegment = path.replace(/\/:v$/, "/x:v");
  if (
    path !== withSegment &&
    patterns.some(({ template, pattern }) => template.endsWith(":v") && pattern.test(withSegment))
  ) {
    return undefined;
  }
  return patterns.filter(({ pattern }) => pattern.test(path)).sort((a, b) => (a.rank < b.rank ? -1 : 1))[0]?.template;
}

it("finds what a naive matcher finds", () => {
  const segment = fc.constantFrom("a", "b", "*");
  const template = fc
    .tuple(fc.array(segment, { minLength: 1, maxLength: 4 }), fc.constantFrom("", "/**"), fc.constantFrom("", ":v"))
    .map(([segments, rest, verb]) => `/${segments.join("/")}${rest}${verb}`);
  const path = fc
    .array(fc.constantFrom("a", "b", "c", "", "c:v", "a:v", ":v", "x:"), { minLength: 1, maxLength: 5 })
    .map((segments) => `/${segments.join("/")}`);
  fc.assert(
    fc.property(fc.uniqueArray(template, { maxLength: 12 }), path, (templates, requested) => {
      const trie = createTrie(templates.map((text) => `GET ${text}`));
      const expected = naiveMatch(templates, requested);
      expect(trie.match("GET", requested).route).toBe(expected === undefined ? undefined : `GET ${expected}`);
    }),
    { numRuns: 2_000 },
  );
});
