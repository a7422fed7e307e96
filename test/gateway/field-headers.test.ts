import { create, type DescField, isFieldSet, type MessageInitShape } from "@bufbuild/protobuf";
import { ConnectError, createMethodImplSpec } from "@connectrpc/connect";
import { describe, expect, it } from "vitest";
import { createGateway } from "../../src/gateway/gateway.ts";
import { createEndpoint } from "../../src/rpc/endpoint.ts";
import { PreparedMessage } from "../../src/rpc/prepared-message.ts";
import { createExchange, type FakeRequest, options, readBody, send, unary } from "./fixture.ts";
import {
  ShapeService,
  type TagShapeRequest,
  TagShapeRequestSchema,
  TagShapeResponseSchema,
} from "./gen/shapes/v1/shape_service_pb.ts";
import { ShapeSchema } from "./gen/shapes/v1/shapes_pb.ts";

const { tagShape, getShape } = ShapeService.method;

const carried: Record<string, string> = {
  "TagShapeRequest.tags": "If-Match",
  "TagShapeResponse.etag": "ETag",
  "TagShapeResponse.note": "X-Note",
};
const withHeaders = {
  ...options,
  headerOf: ({ parent, name }: DescField) => carried[`${parent.name}.${name}`],
};

const requests: TagShapeRequest[] = [];

/** Answers with the tags of the request, which it keeps, as the tag of the shape. */
const gateway = createGateway({
  ...withHeaders,
  successStatus: ({ name }) => (name === "TagShape" ? 201 : 200),
  endpoints: [
    unary(tagShape, (request) => {
      requests.push(request);
      return create(TagShapeResponseSchema, { shape: {}, etag: request.tags ?? "", note: request.note });
    }),
  ],
});

async function tagsOf(request: FakeRequest): Promise<string | undefined> {
  expect((await send(gateway, request)).status).toBe(201);
  return requests.at(-1)?.tags;
}

describe("a field of a request that a header carries", () => {
  it("is set from the header", async () => {
    const request = { method: "POST", target: "/v1/shapes/7:tag", body: "{}", header: { "if-match": '"a", "b"' } };
    expect(await tagsOf(request)).toBe('"a", "b"');
  });

  it("is empty where the header is", async () => {
    const request = { method: "POST", target: "/v1/shapes/7:tag", body: "{}", header: { "if-match": "" } };
    expect(await tagsOf(request)).toBe("");
  });

  it.each<[from: string, request: FakeRequest]>([
    ["the query of a POST", { method: "POST", target: "/v1/shapes/7:tag?tags=x", body: "{}" }],
    ["the query of a GET", { target: "/v1/shapes/7/tag?tags=x" }],
    ["a body of all fields", { method: "POST", target: "/v1/tags", body: '{"tags": "x"}' }],
    ["a body of all fields that has a number", { method: "POST", target: "/v1/tags", body: '{"tags": 5}' }],
  ])("is not set from %s", async (_from, request) => {
    expect(await tagsOf(request)).toBeUndefined();
    expect(isFieldSet(requests.at(-1) as TagShapeRequest, TagShapeRequestSchema.field.tags)).toBe(false);
  });
});

describe("a field of an answer that a header carries", () => {
  it.each(["GET", "HEAD"])("is its header, and not in the body: %s", async (method) => {
    const request = { method, target: "/v1/shapes/7/tag?note=seen", header: { "if-match": '"a"' } };
    const { header, text } = await send(gateway, request);
    expect(header.get("etag")).toBe('"a"');
    expect(header.get("x-note")).toBe("seen");
    expect(text).not.toContain("etag");
  });

  it("has no header where it is empty", async () => {
    const { header } = await send(gateway, { target: "/v1/shapes/7/tag" });
    expect([header.has("etag"), header.has("x-note")]).toEqual([false, false]);
  });

  it("makes a read conditional when it is the ETag", async () => {
    const header = { "if-match": '"a"', "if-none-match": 'W/"a"' };
    const answer = await send(gateway, { target: "/v1/shapes/7/tag?note=seen", header });
    expect([answer.status, answer.text]).toEqual([304, ""]);
    expect([answer.header.get("etag"), answer.header.get("x-note")]).toEqual(['"a"', "seen"]);
  });

  it("is known beforehand in a prepared message", async () => {
    const prepared = new PreparedMessage({
      restBody: new TextEncoder().encode("[]"),
      whole: async () => create(TagShapeResponseSchema),
      fields: { note: "ready" },
    });
    const spec = createMethodImplSpec(tagShape, (() => prepared) as never);
    const endpoint = createEndpoint(spec, { callInterceptors: [], messageInterceptors: [] });
    const { header, text } = await send(createGateway({ ...withHeaders, endpoints: [endpoint] }), {
      target: "/v1/shapes/7/tag",
    });
    expect([header.get("x-note"), text]).toEqual(["ready", "[]"]);
  });
});

it("a body whose rest cannot be read breaks off, and the record tells so", async () => {
  async function* restBody() {
    yield new TextEncoder().encode("[1,");
    throw new Error("the disk is broken");
  }
  const prepared = new PreparedMessage({ restBody: restBody(), whole: async () => create(TagShapeResponseSchema) });
  const spec = createMethodImplSpec(tagShape, (() => prepared) as never);
  const endpoint = createEndpoint(spec, { callInterceptors: [], messageInterceptors: [] });
  const exchange = createExchange({ target: "/v1/shapes/7/tag" });
  const answer = await createGateway({ ...withHeaders, endpoints: [endpoint] })(exchange);
  expect(await readBody(answer)).toEqual({ text: "[1,", failure: ConnectError.from(new Error("the disk is broken")) });
  expect(exchange.record.isBrokenOff).toBe(true);
});

describe("a gateway does not start where a header carries", () => {
  it.each<[what: string, carriedName: string, reason: string]>([
    ["a number", "TagShapeRequest.id", "the field id, which x-carried carries, is no text"],
    ["a message", "TagShapeResponse.shape", "the field shape, which x-carried carries, is no text"],
    ["a field of an answer that is its own body", "Shape.name", "the field name is carried by a header, and must not"],
  ])("%s", (_what, carriedName, reason) => {
    const headerOf = ({ parent, name }: DescField) =>
      carriedName === `${parent.name}.${name}` ? "X-Carried" : undefined;
    const endpoints = [
      unary(tagShape, () => create(TagShapeResponseSchema)),
      unary(getShape, () => create(ShapeSchema)),
    ];
    expect(() => createGateway({ ...options, headerOf, endpoints })).toThrow(reason);
  });
});

describe("Location", () => {
  const endpoints = [
    unary(tagShape, ({ note }) => create(TagShapeResponseSchema, { shape: { name: note, big: 7n }, note })),
  ];
  const gatewayWith = (template: string) => createGateway({ ...options, endpoints, locationOf: () => template });

  it.each<[template: string, location: string]>([
    ["/v1/shapes/{shape.big}", "/v1/shapes/7"],
    ["/v1/{note}/shapes/{shape.name}", "/v1/a%2Fb%20%C3%A9/shapes/a%2Fb%20%C3%A9"],
  ])("is made from the response by %s", async (template, location) => {
    const { header } = await send(gatewayWith(template), { target: "/v1/shapes/7/tag?note=a/b%20%C3%A9" });
    expect(header.get("location")).toBe(location);
  });

  it.each<[template: string, response: MessageInitShape<typeof TagShapeResponseSchema>]>([
    ["/v1/{note}/shapes", {}],
    ["/v1/shapes/{shape.name}", { shape: {} }],
    ["/v1/shapes/{shape.big}", {}],
  ])("is left out where a segment of %s would be empty", async (template, response) => {
    const empty = [unary(tagShape, () => create(TagShapeResponseSchema, response))];
    const gateway = createGateway({ ...options, endpoints: empty, locationOf: () => template });
    const { status, header } = await send(gateway, { target: "/v1/shapes/7/tag" });
    expect([status, header.has("location")]).toEqual([200, false]);
  });

  it("is on no other answer", async () => {
    const { status, header } = await send(createGateway({ ...options, endpoints }), { target: "/v1/shapes/7/tag" });
    expect([status, header.has("location")]).toEqual([200, false]);
  });

  it.each<[template: string, reason: string]>([
    ["/v1/shapes/{id}", "TagShapeResponse has no field id"],
    ["/v1/shapes/{shape}", "the field shape of the location is no singular scalar"],
    ["/v1/shapes/*", "the location /v1/shapes/* has a segment that is neither a text nor a field"],
    ["/v1/{note=shapes/*}", "the location /v1/{note=shapes/*} has a segment that is neither a text nor a field"],
    ["/v1/shapes/{note}:tag", "the location /v1/shapes/{note}:tag has a verb"],
    ["shapes", "the template is malformed"],
  ])("a gateway does not start where it is %s", (template, reason) => {
    expect(() => gatewayWith(template)).toThrow(reason);
  });
});
