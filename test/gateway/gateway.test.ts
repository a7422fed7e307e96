import { create } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import { describe, expect, it } from "vitest";
import { createGateway } from "../../src/gateway/gateway.ts";
import { createTestGateway, type FakeRequest, maxBodyBytes, type Outcome, options, send, unary } from "./fixture.ts";
import { ListShapesResponseSchema, ShapeService } from "./gen/shapes/v1/shape_service_pb.ts";
import { Colour, ShapeSchema } from "./gen/shapes/v1/shapes_pb.ts";

const { getShape, listShapes, createShape, deleteShape, cancelShape, searchShapes, hidden, getLegacy } =
  ShapeService.method;

/** Answers with what it was asked: the id goes into `big`, the method's name into `texts`. */
const gateway = createGateway({
  ...options,
  json: { ...options.json, implicitFields: "unless-default" },
  endpoints: [
    unary(getShape, ({ id, shape }) => shape ?? create(ShapeSchema, { big: id })),
    unary(listShapes, ({ pageSize, colour }) =>
      create(ListShapesResponseSchema, {
        shapes: [{ small: pageSize ?? -1, colours: colour }],
        total: 9007199254740993n,
      }),
    ),
    unary(createShape, (shape) => shape),
    unary(deleteShape, () => create(ShapeSchema)),
    unary(cancelShape, ({ id, shape }) => create(ShapeSchema, { big: id, texts: ["cancelled", shape?.name ?? ""] })),
    unary(searchShapes, (shape) => shape),
    unary(getLegacy, (legacy) => legacy),
    unary(hidden, (shape) => shape),
  ],
});

async function check(request: FakeRequest | string, status: number, body: string): Promise<Outcome> {
  const outcome = await send(gateway, request);
  expect([outcome.status, outcome.text], JSON.stringify(request)).toEqual([status, body]);
  expect(outcome.header.get("content-type")).toBe("application/json");
  expect(outcome.header.get("x-chain")).toBe("seen");
  return outcome;
}

async function checkFault(request: FakeRequest | string, status: number, message: string): Promise<Outcome> {
  const outcome = await send(gateway, request);
  expect([outcome.status, outcome.text], JSON.stringify(request)).toEqual([status, expect.stringContaining(message)]);
  expect(outcome.header.get("content-type")).toBe("application/json");
  expect(outcome.header.get("x-chain")).toBe("seen");
  return outcome;
}

describe("the path", () => {
  it("sets fields, percent-decoded", async () => {
    await check("GET /v1/shapes/7", 200, '{"big":7}');
    await check("GET /v1/shapes/%37", 200, '{"big":7}');
    await check("GET /v1/shapes/-5", 200, '{"big":-5}');
    await check("GET /v1/shapes/9223372036854775807", 200, '{"big":9223372036854775807}');
    await check("GET /v1/coloured/dark_blue", 200, '{"colour":"dark_blue"}');
    await check("GET /v1/flagged/true", 200, '{"flag":true}');
    await check("GET /v1/named/a%2Fb%20c", 200, '{"textChoice":"a/b c"}');
  });

  it("keeps encoded slashes in variables of several segments", async () => {
    await check("GET /v1/folders/a%20b/shapes/c%2Fd%2fe", 200, '{"name":"folders/a b/shapes/c%2Fd%2fe"}');
    await check("GET /v1/files/a/%C3%A9/%252F", 200, '{"name":"a/é/%2F"}');
    await check("GET /v1/files/a/b:stat", 200, '{"name":"a/b"}');
    await check("GET /v1/files", 200, "{}");
  });

  it("is refused where a value is wrong", async () => {
    for (const id of ["abc", "7.0", "+7", "07", "-0", "7%20", "9223372036854775808", "%D9%A7", ".", "7:", "7:other"]) {
      await checkFault(`GET /v1/shapes/${id}`, 400, "id: must be a 64-bit integer");
    }
    for (const id of ["%", "%4", "%zz", "%ff", "%C3", "%ED%A0%80", "é"]) {
      await checkFault(`GET /v1/shapes/${id}`, 400, "id: must");
    }
    await checkFault("GET /v1/files/a/%C3/%A9", 400, "shape.name: must be percent-encoded UTF-8");
    await checkFault("GET /v1/coloured/RED", 400, "shape.colour: must be one of red, dark_blue");
    await checkFault("GET /v1/coloured/1", 400, "shape.colour: must be one of red, dark_blue");
  });

  it("is an unknown route as soon as it differs", async () => {
    for (const path of [
      "/",
      "/v1",
      "/v1/shapes/",
      "//v1/shapes",
      "/v1/./shapes",
      "/v1/%73hapes",
      "/v2/shapes",
      "/v1/shapes/7/8",
    ]) {
      await checkFault(`GET ${path}`, 404, "unknown_route");
    }
    await checkFault("POST /shapes.v1.ShapeService/Hidden", 404, "unknown_route");
  });
});

describe("the method", () => {
  it("is refused with the methods that there are", async () => {
    const outcome = await checkFault("PUT /v1/shapes", 405, "method_not_allowed");
    expect(outcome.header.get("allow")).toBe("GET, HEAD, POST, OPTIONS");
    const other = await checkFault("GET /v1/search", 405, "method_not_allowed");
    expect(other.header.get("allow")).toBe("SEARCH, OPTIONS");
    expect((await checkFault("BREW /v1/shapes/7:cancel", 405, "method_not_allowed")).header.get("allow")).toBe(
      "POST, OPTIONS",
    );
  });

  it("may be HEAD where it may be GET", async () => {
    await check("HEAD /v1/shapes/7", 200, '{"big":7}');
  });

  it("may be OPTIONS on every known path", async () => {
    const outcome = await send(gateway, "OPTIONS /v1/shapes/7");
    expect([outcome.status, outcome.text]).toEqual([204, ""]);
    expect(Object.fromEntries(outcome.header)).toEqual({ allow: "DELETE, GET, HEAD, PUT, OPTIONS", "x-chain": "seen" });
    await checkFault("OPTIONS /v1/unknown", 404, "unknown_route");
    await checkFault("OPTIONS *", 404, "unknown_route");
  });

  it("may be a custom one, or any", async () => {
    await check("SEARCH /v1/search?name=a", 200, '{"name":"a"}');
    await check("BREW /v1/anything?name=a", 200, '{"name":"a"}');
  });

  it("comes after the interceptors", async () => {
    for (const request of [
      { method: "GET", target: "/v1/unknown" },
      { method: "PUT", target: "/v1/shapes" },
      { method: "OPTIONS", target: "/v1/shapes" },
      { method: "POST", target: "/v1/shapes", header: { "content-type": "text/plain" } },
    ]) {
      const outcome = await checkFault({ ...request, header: { ...request.header, "x-refused": "1" } }, 500, "refused");
      expect(outcome.bodyReads).toBe(0);
    }
  });
});

describe("the body", () => {
  it("may be the whole message, with the path going before it", async () => {
    await check('POST /v1/shapes {"name":"a","big":3.0}', 200, '{"name":"a","big":3}');
    await check('PUT /v1/shapes/path {"name":"body","small":1}', 200, '{"name":"path","small":1}');
    await check('POST /v1/shapes/7:cancel {"id":8,"shape":{"name":"a"}}', 200, '{"big":7,"texts":["cancelled","a"]}');
    await check("POST /v1/shapes/7:cancel", 200, '{"big":7,"texts":["cancelled",""]}');
    await check("POST /v1/shapes?name=ignored {}", 200, "{}");
    await check('POST /v1/legacy {"count":7}', 200, '{"count":7}');
  });

  it("does not hold what the path sets: there it is an unknown field", async () => {
    for (const id of ['"x"', "null", "[]", '7,"id":8']) {
      await check(`POST /v1/shapes/7:cancel {"id":${id}}`, 200, '{"big":7,"texts":["cancelled",""]}');
    }
    await check('PUT /v1/shapes/path {"name":5,"small":1}', 200, '{"name":"path","small":1}');
    await checkFault('POST /v1/shapes {"name":5}', 400, "name: must be a string");
  });

  it("may be one field, of any shape, beside the query", async () => {
    await check('POST /v1/texts?name=a&texts=x ["b"]', 200, '{"name":"a","texts":["b"]}');
    await check("POST /v1/bigs 9007199254740993", 200, "9007199254740993");
    await check('POST /v1/colours "red"', 200, '"red"');
    await check('POST /v1/counts {"a":1}', 200, '{"a":1}');
    await check("POST /v1/maybes 0", 200, "0");
    await check('PATCH /v1/children/path {"name":"body","big":1}', 200, '{"name":"path","big":1}');
  });

  it("is refused with the place of the fault", async () => {
    await checkFault('POST /v1/shapes {"child":{"big":"7"}}', 400, "child.big: must be a 64-bit integer");
    await checkFault("POST /v1/shapes []", 400, "The request body must be an object.");
    await checkFault("POST /v1/shapes {", 400, "The request body must be valid JSON.");
    await checkFault("POST /v1/bigs 3.5", 400, "The request body must be a 64-bit integer");
    await checkFault("PATCH /v1/children/a", 400, "The request body is missing");
    await checkFault("PATCH /v1/children/a null", 400, "The request body must be an object.");
    await checkFault("POST /v1/shapes  ", 400, "The request body must be valid JSON.");
  });

  it("is not read where none is bound", async () => {
    const request = { method: "GET", target: "/v1/shapes/7", header: { "content-type": "text/plain" }, body: "x" };
    expect((await check(request, 200, '{"big":7}')).bodyReads).toBe(0);
  });
});

describe("the media type", () => {
  function post(header: Record<string, string>, body: string | Uint8Array = "{}"): FakeRequest {
    return { method: "POST", target: "/v1/shapes", header, body };
  }

  it("is JSON in UTF-8, or is not said", async () => {
    for (const type of [
      "application/json",
      "Application/JSON",
      "application/json; charset=utf-8",
      'application/json;charset="UTF-8"',
      "application/json ; x=y; charset=utf-8;",
      "application/json;",
      "",
    ]) {
      await check(post({ "content-type": type }), 200, "{}");
    }
    await check(post({}), 200, "{}");
    for (const encoding of ["identity", "Identity", ""]) {
      await check(post({ "content-encoding": encoding }), 200, "{}");
    }
  });

  it("is refused otherwise, before the body is read", async () => {
    for (const type of [
      "text/plain",
      "application/jsonx",
      "application/json+x",
      "application/x-www-form-urlencoded",
      "application/json, application/json",
      "application/json; charset=latin1",
      'application/json; x=y; charset="iso-8859-1"',
      "application/json; charset=utf-8; charset=utf-16",
      "application/grpc",
    ]) {
      const outcome = await checkFault(post({ "content-type": type }), 415, "application/json");
      expect(outcome.bodyReads).toBe(0);
    }
    await checkFault(post({ "content-encoding": "gzip" }), 415, "Content-Encoding");
  });

  it("goes before the size, and the size before the content", async () => {
    const large = `{${" ".repeat(maxBodyBytes)}`;
    await checkFault(post({ "content-type": "text/plain" }, large), 415, "unsupported_media_type");
    await checkFault(post({}, large), 413, "body_too_large");
    const declared = await checkFault(post({ "content-length": String(maxBodyBytes + 1) }), 413, "body_too_large");
    expect(declared.bodyReads).toBe(0);
    await checkFault({ ...post({}, large), target: "/v1/bigs?small=x", authority: "a b" }, 413, "body_too_large");
    await checkFault(post({}, " ".repeat(maxBodyBytes)), 400, "valid JSON");
    await check(post({}, `{}${" ".repeat(maxBodyBytes - 2)}`), 200, "{}");
  });
});

describe("the host", () => {
  it("is judged first of the content", async () => {
    for (const authority of [undefined, "", "a b", "[", "user@host", "a:99999"]) {
      await checkFault({ target: "/v1/shapes/abc", authority }, 400, "Host");
      await checkFault({ target: "/v1/unknown", authority }, 404, "unknown_route");
      await checkFault({ method: "POST", target: "/v1/shapes", header: { "content-type": "a/b" }, authority }, 415, "");
    }
  });
});

describe("the query", () => {
  it("sets what the path and the body leave", async () => {
    await check(
      "GET /v1/shapes?pageSize=2&colour=red&colour=dark_blue",
      200,
      '[{"small":2,"colours":["red","dark_blue"]}]',
    );
    await check("GET /v1/shapes/7?id=8", 200, '{"big":7}');
    await check("GET /v1/shapes/7?shape.name=a&unknown=x", 200, '{"name":"a"}');
    await check("GET /v1/coloured/red?shape.colour=dark_blue&shape.big=1", 200, '{"big":1,"colour":"red"}');
    await check("GET /v1/named/a?shape.bigChoice=1", 200, '{"textChoice":"a"}');
  });

  it("is refused with the parameter", async () => {
    await checkFault("GET /v1/shapes?pageSize=2147483648", 400, "pageSize: must be a 32-bit integer");
    await checkFault("GET /v1/shapes?page_size=", 400, "page_size: must be a 32-bit integer");
    await checkFault("GET /v1/shapes?colour=green", 400, "colour: must be one of red, dark_blue");
    await checkFault("GET /v1/shapes/7?shape=x", 400, "shape: must be given field by field");
  });
});

describe("the answer", () => {
  it("is the message, or the field that the rule names", async () => {
    await check("GET /v1/whole-shapes", 200, '{"shapes":[{"small":-1}],"total":9007199254740993}');
    await check("GET /v1/shapes", 200, '[{"small":-1}]');
    await check("GET /v1/shape-totals", 200, "9007199254740993");
  });

  it("is null for a field that is not set", async () => {
    const unset = createTestGateway([unary(createShape, () => create(ShapeSchema))]);
    expect((await send(unset, "POST /v1/maybes 1")).text).toBe("null");
    expect((await send(unset, "PATCH /v1/children/a {}")).text).toBe("null");
    expect((await send(unset, "POST /v1/counts {}")).text).toBe("{}");
  });

  it("has the headers of the response, and its trailers but for those that are headers too", async () => {
    const headers = {
      header: { "x-limit": "100", "content-type": "a/b" },
      trailer: { "x-limit": "99", "x-end": ["1", "2"] },
    };
    const outcome = await send(
      createTestGateway([unary(getShape, () => create(ShapeSchema), headers)]),
      "GET /v1/shapes/7",
    );
    expect(Object.fromEntries(outcome.header)).toEqual({
      "content-type": "application/json",
      "x-chain": "seen",
      "x-end": "2",
      "x-limit": "100",
    });
    expect(outcome.header.get("x-end")).toBe("1, 2");
  });

  it("to a failure has its metadata for headers", async () => {
    const failing = createTestGateway([
      unary(getShape, () => {
        throw new ConnectError("gone", Code.NotFound, { "x-reason": "gone", "content-type": "a/b" });
      }),
    ]);
    const outcome = await send(failing, "GET /v1/shapes/7");
    expect(outcome.text).toBe('{"kind":"other","message":"gone"}');
    expect(Object.fromEntries(outcome.header)).toEqual({
      "content-type": "application/json",
      "x-chain": "seen",
      "x-reason": "gone",
    });
  });

  it("is an internal error when the message cannot be written", async () => {
    const broken = createTestGateway([unary(getShape, () => create(ShapeSchema, { time: { nanos: -1 } }))]);
    const outcome = await send(broken, "GET /v1/shapes/7");
    expect([outcome.status, outcome.text]).toEqual([500, expect.stringMatching(/^\{"kind":"other",/)]);
    expect(outcome.header.get("x-chain")).toBe("seen");
  });

  it("holds no raw input of the client in its messages", async () => {
    for (const request of [
      "GET /v1/shapes/%F0%9F%98%80",
      'POST /v1/shapes {"counts":{"😀":"x"}}',
      "POST /v1/shapes 😀",
    ]) {
      const { text } = await send(gateway, request);
      expect(text).toMatch(/^[ -~]*$/);
    }
  });
});

it("gives an enum in a body the name of the policy", async () => {
  await check('POST /v1/shapes {"colour":"dark_blue"}', 200, '{"colour":"dark_blue"}');
  expect(Colour.DARK_BLUE).toBe(2);
});
