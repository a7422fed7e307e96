import { create } from "@bufbuild/protobuf";
import { describe, expect, it } from "vitest";
import { createTestGateway, type FakeRequest, send, unary } from "./fixture.ts";
import { ListShapesResponseSchema, ShapeService } from "./gen/shapes/v1/shape_service_pb.ts";

function createPages(nextPageToken: string, header: Record<string, string> = {}) {
  const response = create(ListShapesResponseSchema, { nextPageToken });
  return createTestGateway([unary(ShapeService.method.listShapes, () => response, { header })]);
}

async function check(
  request: FakeRequest | string,
  expected: string | null,
  pages = createPages("n+/="),
): Promise<void> {
  expect((await send(pages, request)).header.get("link")).toBe(expected);
}

describe("a page that has a next one", () => {
  it("leads there, at the origin that was asked", async () => {
    await check("GET /v1/shapes", '<http://shapes.example:8080/v1/shapes?pageToken=n%2B%2F%3D>; rel="next"');
    await check(
      { target: "/v1/shapes", authority: "[::1]:80" },
      '<http://[::1]:80/v1/shapes?pageToken=n%2B%2F%3D>; rel="next"',
    );
  });

  it("keeps the request's parameters as sent, but for the token, and nothing else", async () => {
    const rest = 'pageToken=n%2B%2F%3D>; rel="next"';
    for (const [query, kept] of [
      ["pageSize=1", "pageSize=1&"],
      ["pageToken=old&pageSize=1", "pageSize=1&"],
      ["page_size=1&page_token=old&colour=red", "page_size=1&colour=red&"],
      ["page%54oken=old&pageSize=%31&x=%zz&y&key=psk_secret", "pageSize=%31&"],
      ["x=a+b%20c&&colour=red&", "colour=red&"],
    ]) {
      await check(`GET /v1/shapes?${query}`, `<http://shapes.example:8080/v1/shapes?${kept}${rest}`);
    }
  });

  it("cannot be made to hold another link", async () => {
    const rest = 'pageToken=n%2B%2F%3D>; rel="next"';
    await check(
      { target: '/v1/shapes?colour.x=>; rel="prev", <é' },
      `<http://shapes.example:8080/v1/shapes?colour.x=%3E;%20rel=%22prev%22,%20%3C%E9&${rest}`,
    );
  });

  it("goes beside the links that are there already", async () => {
    const pages = createPages("n", { link: "</docs>; rel=help" });
    await check(
      "GET /v1/shapes",
      '</docs>; rel=help, <http://shapes.example:8080/v1/shapes?pageToken=n>; rel="next"',
      pages,
    );
  });

  it("leads there for HEAD too", async () => {
    await check("HEAD /v1/shapes", '<http://shapes.example:8080/v1/shapes?pageToken=n%2B%2F%3D>; rel="next"');
  });
});

it("has no link on the last page", async () => {
  await check("GET /v1/shapes", null, createPages(""));
});

it("has no link where the body holds the token", async () => {
  await check("GET /v1/whole-shapes", null);
});
