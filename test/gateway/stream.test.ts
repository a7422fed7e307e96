import { create } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import { describe, expect, it } from "vitest";
import { createGateway } from "../../src/gateway/gateway.ts";
import {
  chooseFormat,
  createResumeReader,
  createStreamFormats,
  type StreamFormat,
  writeArray,
} from "../../src/gateway/stream.ts";
import type { Fields } from "../../src/proto-json/fields.ts";
import type { Endpoint } from "../../src/rpc/endpoint.ts";
import { createExchange, createTestGateway, options, send, streaming } from "./fixture.ts";
import {
  ListShapesRequestSchema,
  type ListShapesResponse,
  ListShapesResponseSchema,
  ShapeService,
} from "./gen/shapes/v1/shape_service_pb.ts";

/** Totals from 1 to `count`, and then, if so asked, a failure. */
async function* totals(count: number, failure?: Error): AsyncGenerator<ListShapesResponse> {
  for (let total = 1; total <= count; total++) {
    yield create(ListShapesResponseSchema, { total: BigInt(total) });
  }
  if (failure !== undefined) {
    throw failure;
  }
}

const failure = new ConnectError("gone", Code.Unavailable, { "x-reason": "gone" });

function createStream(count: number, thrown?: Error) {
  return request(streaming(ShapeService.method.watchShapes, async () => totals(count, thrown)));
}

/** Requests a stream, as `Accept` asks for it. */
function request(endpoint: Endpoint) {
  const gateway = createTestGateway([endpoint]);
  return (accept?: string) =>
    send(gateway, { target: "/v1/totals:watch", header: accept === undefined ? {} : { accept } });
}

describe("a stream", () => {
  it("is an array of its messages", async () => {
    for (const [count, text] of [
      [0, "[]"],
      [1, "[1]"],
      [3, "[1,2,3]"],
    ] as const) {
      const outcome = await createStream(count)();
      expect([outcome.status, outcome.text, outcome.header.get("content-type")]).toEqual([
        200,
        text,
        "application/json",
      ]);
      expect([outcome.header.get("x-chain"), outcome.trailer?.get("x-end")]).toEqual(["seen", "seen"]);
    }
  });

  it("is of whole messages where the rule names no field", async () => {
    const gateway = createTestGateway([streaming(ShapeService.method.watchShapes, async () => totals(1))]);
    expect((await send(gateway, "GET /v1/shapes:watch")).text).toBe('[{"shapes":[],"nextPageToken":"","total":1}]');
  });

  it("is lines of JSON when these are asked for", async () => {
    const outcome = await createStream(3)("application/x-ndjson");
    expect([outcome.text, outcome.header.get("content-type")]).toEqual(["1\n2\n3\n", "application/x-ndjson"]);
    expect((await createStream(0)("application/x-ndjson")).text).toBe("");
  });

  it("that cannot be opened is an error like others", async () => {
    const refused = streaming(ShapeService.method.watchShapes, async () => {
      throw failure;
    });
    for (const accept of [undefined, "application/x-ndjson"]) {
      const outcome = await request(refused)(accept);
      expect([outcome.status, outcome.text]).toEqual([500, '{"kind":"other","message":"gone"}']);
      expect([outcome.header.get("content-type"), outcome.header.get("x-reason")]).toEqual([
        "application/json",
        "gone",
      ]);
    }
  });

  it("that fails later leaves an array open, and says so in a last line", async () => {
    const array = await createStream(2, failure)();
    expect([array.text, array.failure]).toEqual(["[1,2", failure]);
    const lines = await createStream(2, failure)("application/x-ndjson");
    expect([lines.text, lines.failure]).toEqual(['1\n2\n{"error":{"kind":"other","message":"gone"}}\n', undefined]);
  });

  it("that cannot be written says no more than others that fail", async () => {
    async function* broken(): AsyncGenerator<ListShapesResponse> {
      yield create(ListShapesResponseSchema);
      yield create(ListShapesResponseSchema, { shapes: [{ time: { seconds: 10n ** 15n } }] });
    }
    const failures: unknown[] = [];
    const toError = (reason: unknown) => {
      failures.push(reason);
      return new ConnectError("sorry");
    };
    const endpoints = [streaming(ShapeService.method.watchShapes, async () => broken())];
    const gateway = createGateway({ ...options, toError, endpoints });
    const { text } = await send(gateway, { target: "/v1/shapes:watch", header: { accept: "application/x-ndjson" } });
    expect(text.split("\n").slice(1)).toEqual(['{"error":{"kind":"other","message":"sorry"}}', ""]);
    expect(failures).toEqual([expect.any(Error)]);
  });

  it("is pulled no faster than it is read, and ends when it is given up", async () => {
    const pulled: number[] = [];
    async function* endless(): AsyncGenerator<ListShapesResponse> {
      try {
        for (let count = 1; ; count++) {
          pulled.push(count);
          yield create(ListShapesResponseSchema, { total: BigInt(count) });
        }
      } finally {
        pulled.push(-1);
      }
    }
    const chunks = writeArray(endless(), String, () => failure);
    await chunks.next();
    await chunks.next();
    expect(pulled).toEqual([1, 2]);
    await chunks.return(undefined);
    expect(pulled).toEqual([1, 2, -1]);
  });
});

const lines: StreamFormat = { contentType: "application/x-ndjson", message: () => "", error: () => "" };

describe("lines of JSON", () => {
  it.each([
    [undefined, false],
    ["", false],
    ["*/*", false],
    ["application/*", false],
    ["application/json", false],
    ["application/x-ndjson", true],
    ["Application/X-NDJSON;q=0.5", true],
    ["application/x-ndjson;q=0", false],
    ["application/x-ndjson; q=0.000", false],
    ["application/x-ndjson;q=nonsense", false],
    ["application/x-ndjson, application/json", true],
    ["application/json;q=0.9, application/x-ndjson", true],
    ["application/json, application/x-ndjson;q=0.9", false],
    ["application/x-ndjson;q=0.5, */*", false],
    ["application/x-ndjson;q=0.5, */*, application/json;q=0.1", true],
    ["application/x-ndjson;q=0.5, application/json;q=0", true],
  ])("are asked for by Accept: %s: %s", (accept, expected) => {
    expect(chooseFormat({ lines, events: undefined }, accept)).toBe(expected ? lines : "array");
  });
});

const events: StreamFormat = { contentType: "text/event-stream", message: () => "", error: () => "" };

describe("a stream of events", () => {
  it.each([
    [undefined, events],
    ["*/*", events],
    ["text/*", events],
    ["text/event-stream", events],
    ["TEXT/Event-Stream; charset=utf-8", events],
    ["text/html, */*;q=0.1", events],
    ["text/event-stream, application/x-ndjson;q=0.9", events],
    ["application/x-ndjson;q=0.5, */*", events],
    ["application/x-ndjson;q=0, */*", events],
    ["application/x-ndjson", lines],
    ["application/x-ndjson, text/event-stream", lines],
    ["text/event-stream;q=0.9, application/x-ndjson", lines],
    ["application/*", lines],
    ["text/event-stream;q=0, */*", lines],
    ["text/*;q=0.2, */*;q=0.3", lines],
    ["image/png", undefined],
    ["application/json", undefined],
    ["text/event-stream;q=0", undefined],
    ["*/*;q=0", undefined],
    ["text/*;q=0, application/*;q=0", undefined],
    ["", events],
  ])("has the format that Accept asks for: %s", (accept, expected) => {
    expect(chooseFormat({ lines, events }, accept)).toBe(expected);
  });

  const { watchShapes } = ShapeService.method;
  const eventOptions = { type: "total", idField: "next_page_token", resumeField: "page_token" };

  it.each([
    [Code.Unavailable, "retry: 1000\n"],
    [Code.PermissionDenied, ""],
    [Code.ResourceExhausted, ""],
  ])("that fails with code %s ends with an error, before which it says %j", (code, retry) => {
    const rule = { method: watchShapes, httpMethod: "GET", template: "", body: "", responseBody: "total" };
    const formats = createStreamFormats(rule, () => "", eventOptions);
    const text = formats.events?.error(new ConnectError("gone", code), '{"code":7}');
    expect(text).toBe(`${retry}event: error\ndata: {"code":7}\n\n`);
  });

  it.each([
    [undefined, "from-query"],
    ["", "from-query"],
    ["from-header", "from-header"],
  ])("whose query names a cursor goes on, with Last-Event-ID: %s, at the one %s", (id, expected) => {
    const message = create(ListShapesRequestSchema, { pageToken: "from-query" });
    const exchange = createExchange({ header: id === undefined ? {} : { "last-event-id": id } });
    createResumeReader(watchShapes, eventOptions)(exchange, message as unknown as Fields);
    expect(message.pageToken).toBe(expected);
  });
});
