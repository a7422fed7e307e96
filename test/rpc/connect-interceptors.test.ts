import { create } from "@bufbuild/protobuf";
import {
  ConnectError,
  createContextKey,
  createContextValues,
  createMethodImplSpec,
  type HandlerContext,
  type Interceptor,
  type StreamRequest,
  type UnaryRequest,
} from "@connectrpc/connect";
import { describe, expect, it } from "vitest";
import { createEndpoint, createNotFoundEndpoint, type UnaryEndpoint } from "../../src/rpc/endpoint.ts";
import { PreparedMessage } from "../../src/rpc/prepared-message.ts";
import { createRpcHandler } from "../../src/rpc/rpc-handler.ts";
import type { RpcRequest } from "../../src/rpc/rpc-protocol.ts";
import { createTestGateway, registry, send } from "../gateway/fixture.ts";
import {
  type GetShapeRequest,
  type ListShapesResponse,
  ListShapesResponseSchema,
  ShapeService,
} from "../gateway/gen/shapes/v1/shape_service_pb.ts";
import { type Shape, ShapeSchema } from "../gateway/gen/shapes/v1/shapes_pb.ts";
import { envelope } from "../support/rpc-wire.ts";

type Implementation = (request: GetShapeRequest, context: HandlerContext) => Promise<Shape | PreparedMessage<Shape>>;

const color = createContextKey("none", { description: "color" });

/** Calls `GetShape` for the shape 7 over REST, behind message interceptors. */
async function get(interceptors: readonly Interceptor[], implementation: Implementation) {
  const spec = createMethodImplSpec(ShapeService.method.getShape, implementation as never);
  const endpoint = createEndpoint(spec, { callInterceptors: [], messageInterceptors: interceptors });
  return await send(createTestGateway([endpoint]), "GET /v1/shapes/7");
}

describe("the implementation's context", () => {
  it("is what the last interceptor has passed on", async () => {
    const header = new Headers({ "x-color": "red" });
    const { signal } = new AbortController();
    const contextValues = createContextValues().set(color, "red");
    const replace: Interceptor = (next) => (request) =>
      next({ ...(request as UnaryRequest), header, signal, contextValues, url: "http://red.example/" });
    let context: HandlerContext | undefined;
    await get([replace], async (_request, given) => {
      context = given;
      return create(ShapeSchema);
    });
    expect(context?.requestHeader).toBe(header);
    expect(context?.signal).toBe(signal);
    expect(context?.values.get(color)).toBe("red");
    expect(context?.url).toBe("http://red.example/");
  });

  it("is that of the request where nothing is changed", async () => {
    let context: HandlerContext | undefined;
    await get([(next) => next], async (_request, given) => {
      context = given;
      return create(ShapeSchema);
    });
    expect(context?.requestMethod).toBe("GET");
    expect(context?.url).toBe("http://shapes.example:8080/v1/shapes/7");
    expect([context?.signal.aborted, context?.values.get(color), context?.protocolName]).toEqual([
      false,
      "none",
      "rest",
    ]);
  });
});

it("gives interceptors a request of plain properties", async () => {
  let names: string[] = [];
  const note: Interceptor = (next) => async (request) => {
    names = Object.keys(request);
    return await next(request);
  };
  await get([note], async () => create(ShapeSchema));
  expect(names.sort()).toEqual(
    ["contextValues", "header", "message", "method", "requestMethod", "service", "signal", "stream", "url"].sort(),
  );
});

it("shows interceptors a prepared response as a whole message, and sends what they make of it", async () => {
  const prepared = new PreparedMessage({
    restBody: Buffer.from('"ready"'),
    whole: async () => create(ShapeSchema, { name: "whole" }),
  });
  expect((await get([], async () => prepared)).text).toBe('"ready"');
  const seen: unknown[] = [];
  const rename: Interceptor = (next) => async (request) => {
    const response = await next(request);
    seen.push((response.message as Shape).name);
    return { ...response, message: create(ShapeSchema, { name: "renamed" }) } as never;
  };
  const { text } = await get([rename], async () => prepared);
  expect([seen, JSON.parse(text).name]).toEqual([["whole"], "renamed"]);
});

it("ends the reading of a body by the signal that a call interceptor passes on", async () => {
  const reason = new ConnectError("given up");
  const giveUp: Interceptor = (next) => (request) =>
    next({ ...(request as UnaryRequest), signal: AbortSignal.abort(reason) });
  const signals: unknown[] = [];
  const spec = createMethodImplSpec(ShapeService.method.createShape, (shape) => shape);
  const endpoint = createEndpoint(spec, { callInterceptors: [giveUp], messageInterceptors: [] });
  const gateway = createTestGateway([endpoint]);
  await send((exchange) => {
    const readBody = exchange.readBody.bind(exchange);
    exchange.readBody = async (maxBytes, signal) => {
      signals.push(signal?.reason);
      return await readBody(maxBytes);
    };
    return gateway(exchange);
  }, "POST /v1/shapes {}");
  expect(signals).toEqual([reason]);
});

it("reads a body once for an interceptor that tries twice", async () => {
  const twice: Interceptor = (next) => async (request) => {
    await next(request);
    return await next(request);
  };
  const spec = createMethodImplSpec(ShapeService.method.createShape, (shape) => shape);
  const endpoint = createEndpoint(spec, { callInterceptors: [twice], messageInterceptors: [] });
  const { bodyReads, text } = await send(createTestGateway([endpoint]), 'POST /v1/shapes {"name": "a"}');
  expect([bodyReads, JSON.parse(text).name]).toEqual([1, "a"]);
});

describe("a server-streaming call", () => {
  const watch: Interceptor = (next) => async (given) => {
    const request = given as StreamRequest;
    const [message] = await Array.fromAsync(request.message);
    async function* again() {
      yield message as never;
    }
    const response = await next({ ...request, message: again() });
    async function* doubled() {
      for await (const item of response.message as AsyncIterable<ListShapesResponse>) {
        yield create(ListShapesResponseSchema, { total: 2n * item.total });
      }
    }
    return { ...response, message: doubled() } as never;
  };

  it.each(["callInterceptors", "messageInterceptors"])("is a stream to its %s, both ways", async (place) => {
    const spec = createMethodImplSpec(ShapeService.method.watchShapes, async function* () {
      yield* [1n, 2n].map((total) => ({ total }));
    });
    const endpoint = createEndpoint(spec, { callInterceptors: [], messageInterceptors: [], [place]: [watch] });
    expect((await send(createTestGateway([endpoint]), "GET /v1/totals:watch")).text).toBe("[2,4]");
  });
});

it("answers a call whose interceptor throws at once, over every protocol", async () => {
  const interceptors = {
    callInterceptors: [
      () => () => {
        throw new ConnectError("no");
      },
    ],
    messageInterceptors: [],
  };
  const spec = createMethodImplSpec(ShapeService.method.getShape, () => create(ShapeSchema));
  const endpoint = createEndpoint(spec, interceptors) as UnaryEndpoint;
  const rpc = createRpcHandler({
    endpoints: [endpoint],
    notFoundEndpoint: createNotFoundEndpoint(interceptors),
    readMaxBytes: 1_000,
    registry,
    toError: (reason) => ConnectError.from(reason),
  });
  expect((await send(createTestGateway([endpoint]), "GET /v1/shapes/7")).status).toBe(500);
  for (const type of ["application/json", "application/grpc", "application/grpc-web"]) {
    const body = type.includes("grpc") ? envelope(Buffer.alloc(0)) : "{}";
    const request = {
      method: "POST",
      target: "/shapes.v1.ShapeService/GetShape",
      header: { "content-type": type },
      body,
    };
    const { status, header } = await send((exchange) => rpc.answer(rpc.recognize(exchange) as RpcRequest), request);
    expect(header.get("grpc-status") ?? status).toBe(type.includes("grpc") ? "2" : 500);
  }
});
