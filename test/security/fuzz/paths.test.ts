import { create } from "@bufbuild/protobuf";
import { describe, expect } from "vitest";
import { HoldService } from "../../../gen/petstore/v1/hold_service_pb.ts";
import { InventoryService } from "../../../gen/petstore/v1/inventory_service_pb.ts";
import { LimitService } from "../../../gen/petstore/v1/limit_service_pb.ts";
import { PetService } from "../../../gen/petstore/v1/pet_service_pb.ts";
import { StoreService } from "../../../gen/petstore/v1/store_service_pb.ts";
import { httpRules, PathTemplateError, parsePathTemplate } from "../../../src/gateway/routes/http-rule.ts";
import { RouteTrie } from "../../../src/gateway/routes/route-trie.ts";
import { parseTarget } from "../../../src/http/target.ts";
import { createTestGateway, send, unary } from "../../gateway/fixture.ts";
import { ListShapesResponseSchema, ShapeService } from "../../gateway/gen/shapes/v1/shape_service_pb.ts";
import { ShapeSchema } from "../../gateway/gen/shapes/v1/shapes_pb.ts";
import { fuzz } from "./cases.ts";
import { maxHeaderLength, mutated } from "./mutate.ts";
import { refusalOf } from "./refusal.ts";
import { restShapes } from "./samples.ts";
import { jsonTokens, numberTokens, unicodeTokens, urlTokens } from "./tokens.ts";

const tokens = [...urlTokens, ...numberTokens, ...unicodeTokens];
const methods = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "SEARCH", "*", "", "get"];

describe("a path of the API", () => {
  const rules = [InventoryService, HoldService, PetService, StoreService, LimitService].flatMap((service) =>
    service.methods.flatMap((method) => httpRules(method)),
  );
  const trie = new RouteTrie<string>();
  for (const { httpMethod, template } of rules) {
    trie.add(httpMethod, parsePathTemplate(template), template);
  }
  const corpus = [
    "/v1/inventory",
    "/v1/inventory/7",
    "/v1/inventory/7:adjust",
    "/v1/inventory/:adjust",
    "/v1/holds/hold_1:commit",
    "/v1/inventory:batch",
    "/v1/inventory/changes",
    "/v1/pets/-5",
    "/v1/store/orders",
    "/v1/limits",
    "/v1/pets/%37",
  ];

  fuzz("leads where its template says, letter by letter", { usual: 2_000, long: 100_000 }, (random) => {
    const path = mutated(random, { tokens, corpus, maxLength: maxHeaderLength });
    const method = random.pick(methods);
    const withVerb = rules.filter(({ template }) => verbOf(template) !== "" && fits(path, template));
    // A path that ends in a verb is no other, and none at all where the word before the verb is empty.
    const filled = path.replace(/\/(:[^/]*)$/, "/word$1");
    const isOther = !rules.some(({ template }) => verbOf(template) !== "" && fits(filled, template));
    const fitting = isOther
      ? rules.filter(({ template }) => verbOf(template) === "" && fits(path, template))
      : withVerb;
    const allowed = fitting.filter(
      ({ httpMethod }) => httpMethod === method || (method === "HEAD" && httpMethod === "GET"),
    );
    const match = trie.match(method, path);
    if (match.route !== undefined) {
      expect(allowed.map(({ template }) => template)).toContain(match.route);
      expect(`/${match.segments.join("/")}${verbOf(match.route)}`).toBe(path);
      return;
    }
    expect(allowed).toEqual([]);
    expect(new Set(match.methods?.keys())).toEqual(new Set(fitting.map(({ httpMethod }) => httpMethod)));
  });

  /** With its colon; empty where there is none. */
  function verbOf(template: string): string {
    return /:[^/]*$/.exec(template)?.[0] ?? "";
  }

  /** By its words: the same ones, and one that is not empty for each variable; and by its verb. */
  function fits(path: string, template: string): boolean {
    const verb = verbOf(template);
    if (!path.endsWith(verb)) {
      return false;
    }
    const words = path.slice(0, path.length - verb.length).split("/");
    const expected = template.slice(0, template.length - verb.length).split("/");
    return (
      words.length === expected.length &&
      expected.every((word, index) => (word.startsWith("{") ? words[index] !== "" : words[index] === word))
    );
  }
});

describe("a request's target", () => {
  const corpus = [
    "/v1/inventory?pageSize=2&status=sold",
    "http://a.example:80/v1/pets/7?a=b",
    "*",
    "https://[::1]",
    "/?",
  ];

  fuzz("is taken apart without a loss", { usual: 1_000, long: 50_000 }, (random) => {
    const target = mutated(random, { tokens, corpus, maxLength: maxHeaderLength });
    const { path, query, authority } = parseTarget(target);
    expect(path).not.toContain("?");
    const whole = path + (query === "" ? "" : `?${query}`);
    if (authority === undefined && target !== "" && !target.startsWith("?") && !target.endsWith("?")) {
      expect(whole === target || whole === target.replace("?", ""), target.slice(0, 100)).toBe(true);
    } else if (authority !== undefined) {
      expect(target.slice(target.indexOf("//") + 2).startsWith(authority)).toBe(true);
      expect(authority).not.toMatch(/[/?#]/);
    }
  });
});

describe("a path template", () => {
  const corpus = [
    "/v1/shapes/{id}:cancel",
    "/v1/{shape.name=folders/*/shapes/*}",
    "/v1/files/{shape.name=**}",
    "/a/*/**:b",
  ];
  const templateTokens = ["{", "}", "=", "*", "**", ".", "/", ":", "{a=**}", "{a=*}", "%41", ...tokens];

  fuzz("is parsed, or refused with the place of its fault", { usual: 1_000, long: 50_000 }, (random, refused) => {
    const template = mutated(random, { tokens: templateTokens, corpus });
    const refusal = refusalOf(() => parsePathTemplate(template));
    if (refusal === undefined) {
      expect(parsePathTemplate(template).segments.length).toBeGreaterThan(0);
      return;
    }
    refused();
    expect(refusal).toBeInstanceOf(PathTemplateError);
    expect((refusal as PathTemplateError).position).toBeLessThanOrEqual(template.length);
  });
});

describe("a gateway", () => {
  const { getShape, listShapes, createShape, deleteShape, cancelShape, searchShapes } = ShapeService.method;
  const gateway = createTestGateway([
    unary(getShape, ({ id, shape }) => shape ?? create(ShapeSchema, { big: id })),
    unary(listShapes, ({ colour }) => create(ListShapesResponseSchema, { shapes: [{ colours: colour }] })),
    unary(createShape, (shape) => shape),
    unary(deleteShape, () => create(ShapeSchema)),
    unary(cancelShape, ({ id }) => create(ShapeSchema, { big: id })),
    unary(searchShapes, (shape) => shape),
  ]);
  const targets = [
    ["/v1/shapes/7", "/v1/shapes/7:cancel", "/v1/shapes?colour=red&pageSize=3&shape.name=a", "/v1/named/a%2Fb%20c"],
    ["/v1/folders/a/shapes/b", "/v1/files/a/b:stat", "/v1/texts", "/v1/counts", "/v1/maybes", "/v1/children/c"],
    ["/v1/search?texts=a&texts=b&child.child.name=x&time=2026-01-01T00:00:00Z", "/v1/anything", "/v1/flagged/true"],
  ].flat();
  const bodies = [...restShapes, '["a","b"]', "7", '"red"', '{"a":1}', "null", ""];

  fuzz("answers any request, and fails at none", { usual: 1_000, long: 40_000 }, async (random) => {
    const outcome = await send(gateway, {
      method: random.pick(methods),
      target: mutated(random, { tokens, corpus: targets, maxLength: maxHeaderLength }),
      body: mutated(random, { tokens: [...jsonTokens, ...tokens], corpus: bodies }),
      header: random.oneIn(4) ? { "content-type": random.pick(["application/json; charset=utf-8", "text/plain"]) } : {},
    });
    expect([200, 204, 400, 404, 405, 413, 415]).toContain(outcome.status);
    expect(outcome.failure).toBeUndefined();
    expect(() => JSON.parse(outcome.text || "null")).not.toThrow();
  });
});
