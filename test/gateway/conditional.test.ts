import { create } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import { answerConditionally, matchesEtag } from "../../src/gateway/negotiation.ts";
import { HeaderList } from "../../src/http/header-list.ts";
import { createExchange, createTestGateway, send, unary } from "./fixture.ts";
import { ShapeService } from "./gen/shapes/v1/shape_service_pb.ts";
import { ShapeSchema } from "./gen/shapes/v1/shapes_pb.ts";

describe("If-None-Match", () => {
  it.each<[ifNoneMatch: string, matches: boolean]>([
    ['"a-1"', true],
    ['W/"a-1"', true],
    ["*", true],
    [" * ", true],
    ['"x", W/"a-1", "y"', true],
    ['"x","a-1"', true],
    ['"a,b", "a-1"', true],
    ['"a-1" , ', true],
    ['"a-2"', false],
    ['"A-1"', false],
    ['"a-1', false],
    ["a-1", false],
    ["W/a-1", false],
    ['"x, a-1"', false],
    ['"-1"', false],
    ['""', false],
    ["", false],
  ])("of %s matches a weak tag: %s", (ifNoneMatch, matches) => {
    expect(matchesEtag(ifNoneMatch, 'W/"a-1"')).toBe(matches);
  });

  it("is compared weakly with a strong tag too", () => {
    expect(matchesEtag('W/"a-1"', '"a-1"')).toBe(true);
  });

  it("is read in time that grows with its length alone", () => {
    expect(matchesEtag(`${'"'.repeat(16_000)},`.repeat(4), '"a"')).toBe(false);
    expect(matchesEtag(",".repeat(64_000), '"a"')).toBe(false);
  });
});

const { getShape, createShape } = ShapeService.method;
const header = { etag: 'W/"a-1"', link: "</next>" };
const gateway = createTestGateway([
  unary(getShape, ({ id }) => create(ShapeSchema, { big: id }), { header }),
  unary(createShape, (shape) => shape, { header }),
]);
const untagged = createTestGateway([unary(getShape, () => create(ShapeSchema))]);
const known = { "if-none-match": '"a-1"' };

describe("an answer with an ETag", () => {
  it.each(["GET", "HEAD"])("to %s is 304 without a body where the client has it", async (method) => {
    const { status, text, header: fields } = await send(gateway, { method, target: "/v1/shapes/7", header: known });
    expect([status, text]).toEqual([304, ""]);
    expect(Object.fromEntries(fields)).toEqual({
      "cache-control": "private, no-cache",
      "x-chain": "seen",
      ...header,
    });
  });

  it("is 304 without the type and the coding of the body that it leaves out", () => {
    const ofBody = { "content-type": "application/json", "content-encoding": "br" };
    const whole = { status: 200, header: HeaderList.from({ ...header, ...ofBody, vary: "Accept-Encoding" }) };
    const { status, header: fields } = answerConditionally(createExchange({ header: known }), whole);
    expect(status).toBe(304);
    expect(Object.fromEntries(fields)).toEqual({
      "cache-control": "private, no-cache",
      vary: "Accept-Encoding",
      ...header,
    });
  });

  it("is sent where the client has another", async () => {
    const request = { target: "/v1/shapes/7", header: { "if-none-match": '"a-0"' } };
    const { status, header: fields } = await send(gateway, request);
    expect(status).toBe(200);
    expect(fields.get("etag")).toBe('W/"a-1"');
    expect(fields.get("cache-control")).toBe("private, no-cache");
  });

  it("is sent to other methods, whatever the client has", async () => {
    const { status } = await send(gateway, { method: "POST", target: "/v1/shapes", body: "{}", header: known });
    expect(status).toBe(200);
  });

  it("is refused as any other where the request is wrong", async () => {
    expect((await send(gateway, { target: "/v1/shapes/x", header: known })).status).toBe(400);
  });
});

it("sends an answer without an ETag whatever the client has", async () => {
  const { status, header: fields } = await send(untagged, { target: "/v1/shapes/7", header: { "if-none-match": "*" } });
  expect(status).toBe(200);
  expect(fields.get("cache-control")).toBeNull();
});
