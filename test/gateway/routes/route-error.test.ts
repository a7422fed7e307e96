import { create, createFileRegistry, type DescMethod, type MessageInitShape, setExtension } from "@bufbuild/protobuf";
import { type FileDescriptorProto, FileDescriptorProtoSchema, MethodOptionsSchema } from "@bufbuild/protobuf/wkt";
import { describe, expect, it } from "vitest";
import { file_google_api_annotations, http } from "../../../gen/google/api/annotations_pb.ts";
import { HttpRuleSchema } from "../../../gen/google/api/http_pb.ts";
import { createGateway } from "../../../src/gateway/gateway.ts";
import { RouteError } from "../../../src/gateway/routes/http-rule.ts";
import type { Endpoint } from "../../../src/rpc/endpoint.ts";
import { options } from "../fixture.ts";
import { file_shapes_v1_shapes } from "../gen/shapes/v1/shapes_pb.ts";

type Rule = MessageInitShape<typeof HttpRuleSchema>;

/** A rule such as `GET /v1/shapes`, with more of its fields. */
function rule(pattern: string, more: Rule = {}): Rule {
  const [kind = "", path = ""] = pattern.split(" ");
  const method = kind.toLowerCase();
  if (["get", "put", "post", "delete", "patch"].includes(method)) {
    return { ...more, pattern: { case: method as "get", value: path } } as Rule;
  }
  return { ...more, pattern: { case: "custom", value: { kind, path } } } as Rule;
}

/** Methods of a service of their own, from Shape to Shape, with these rules. */
function createMethods(rules: readonly Rule[]): readonly DescMethod[] {
  const file: FileDescriptorProto = create(FileDescriptorProtoSchema, {
    name: "bad.proto",
    package: "bad.v1",
    syntax: "proto3",
    dependency: [file_google_api_annotations.proto.name, file_shapes_v1_shapes.proto.name],
    service: [{ name: "BadService", method: rules.map(createMethod) }],
  });
  const files = createFileRegistry(file, (name) =>
    [file_google_api_annotations, file_shapes_v1_shapes].find(({ proto }) => proto.name === name),
  );
  return files.getService("bad.v1.BadService")?.methods ?? [];
}

function createMethod(option: Rule, index: number) {
  const methodOptions = create(MethodOptionsSchema);
  setExtension(methodOptions, http, create(HttpRuleSchema, option));
  const type = ".shapes.v1.Shape";
  return { name: `Method${index + 1}`, inputType: type, outputType: type, options: methodOptions };
}

function start(rules: readonly Rule[]): void {
  const endpoints = createMethods(rules).map((method) => ({ method }) as unknown as Endpoint);
  createGateway({ ...options, endpoints });
}

function check(rules: Rule | readonly Rule[], method: string, template: string, reason: string): void {
  const all = Array.isArray(rules) ? (rules as readonly Rule[]) : [rules as Rule];
  expect(() => start(all)).toThrow(RouteError);
  expect(() => start(all)).toThrow(
    `bad.v1.BadService/${method}: the rule for "${template}" cannot be served: ${reason}`,
  );
}

function checkOne(pattern: string, reason: string, more?: Rule): void {
  check(rule(pattern, more), "Method1", pattern.split(" ")[1] ?? "", reason);
}

describe("a gateway refuses to start with", () => {
  it("a malformed template", () => {
    checkOne("GET v1", 'the template is malformed, expected "/", found "v" at position 0');
    checkOne("GET /v1/{name", 'the template is malformed, expected "}", found the end at position 9');
    checkOne("GET /**/a", "the template is malformed, a segment follows **, which must be the last, at position 4");
    checkOne("GET /{name={big}}", "the template is malformed, a variable stands within a variable at position 7");
    checkOne("GET ", 'the template is malformed, expected "/", found the end at position 0');
  });

  it("a rule without a method", () => {
    check({ body: "*" }, "Method1", "", "it names no HTTP method");
    check(rule(" /v1"), "Method1", "/v1", "it names no HTTP method");
    checkOne("two,words /v1", "it names no HTTP method");
    checkOne("brew /v1", "it names no HTTP method");
  });

  it("a variable of an unknown field", () => {
    checkOne("GET /{unknown}", "shapes.v1.Shape has no field unknown");
    checkOne("GET /{child.unknown}", "shapes.v1.Shape has no field unknown");
    checkOne("GET /{signedFixed}", "shapes.v1.Shape has no field signedFixed");
  });

  it("a variable of a field that has no single text", () => {
    for (const name of ["texts", "child", "counts", "time", "wrapped_text", "object", "colours"]) {
      checkOne(`GET /{${name}}`, `the variable ${name} is neither a singular scalar nor an enum`);
    }
  });

  it("a variable that leads through what has no fields", () => {
    for (const name of ["name", "children", "shapes", "object", "wrapped_text"]) {
      checkOne(`GET /{${name}.value}`, `shapes.v1.Shape.${name} is not a singular message with fields to bind`);
    }
  });

  it("a field that is bound twice", () => {
    checkOne("GET /{name}/{name}", "the field name is bound by two variables");
    checkOne("GET /{child.name}/{child.name}", "the field child.name is bound by two variables");
    checkOne("POST /{name}", "the field name is bound by the path and by the body", { body: "name" });
  });

  it("a body that is no field, or that the method has not", () => {
    checkOne("POST /v1", "shapes.v1.Shape has no field unknown", { body: "unknown" });
    checkOne("POST /v1", "shapes.v1.Shape has no field child.name", { body: "child.name" });
    checkOne("GET /v1", "GET has no body", { body: "*" });
    checkOne("HEAD /v1", "HEAD has no body", { body: "child" });
  });

  it("a response body that is no field", () => {
    checkOne("GET /v1", "shapes.v1.Shape has no field unknown", { responseBody: "unknown" });
    checkOne("GET /v1", "shapes.v1.Shape has no field *", { responseBody: "*" });
  });

  it("nested additional bindings", () => {
    const nested = rule("GET /v1/b", { additionalBindings: [rule("GET /v1/c")] });
    check(
      rule("GET /v1/a", { additionalBindings: [nested] }),
      "Method1",
      "/v1/b",
      "additional bindings may not be nested",
    );
  });

  it("two rules for the same method and paths", () => {
    const reason = 'GET of the same paths leads to bad.v1.BadService/Method1 with "/v1/{name}" already';
    check([rule("GET /v1/{name}"), rule("GET /v1/{big}")], "Method2", "/v1/{big}", reason);
    check([rule("GET /v1/{name}"), rule("GET /{name=v1/*}")], "Method2", "/{name=v1/*}", reason);
    const twice = rule("GET /v1/{name}", { additionalBindings: [rule("GET /v1/{big}")] });
    check(twice, "Method1", "/v1/{big}", reason);
  });

  it("a policy that gives one name to two values of an enum", () => {
    const endpoints = createMethods([rule("GET /v1")]).map((method) => ({ method }) as unknown as Endpoint);
    const json = { ...options.json, enumName: () => "same" };
    expect(() => createGateway({ ...options, json, endpoints })).toThrow('gives the name "same" to two values');
  });
});

it("starts with rules that differ in method, verb or literals", () => {
  start([
    rule("GET /v1/{name}"),
    rule("POST /v1/{name}", { body: "child" }),
    rule("GET /v1/{name}:verb"),
    rule("GET /v1/shapes"),
    rule("GET /v1/{name=**}"),
    rule("* /v1/{name}"),
    rule("PATCH /v1/{child.name}", { body: "child" }),
    rule("DELETE /v1/{name}", { body: "*" }),
  ]);
});
