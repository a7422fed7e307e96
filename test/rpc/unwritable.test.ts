import { create } from "@bufbuild/protobuf";
import { createMethodImplSpec, type Interceptor } from "@connectrpc/connect";
import { describe, expect, it } from "vitest";
import type { ErrorCode } from "../../src/domain/errors.ts";
import { createGateway } from "../../src/gateway/gateway.ts";
import type { Exchange } from "../../src/http/exchange.ts";
import { createErrorReporter, errorToRest } from "../../src/interceptors/errors.ts";
import { createEndpoint, createNotFoundEndpoint, type UnaryEndpoint } from "../../src/rpc/endpoint.ts";
import { createRpcHandler } from "../../src/rpc/rpc-handler.ts";
import type { RpcRequest } from "../../src/rpc/rpc-protocol.ts";
import { policy, registry, send } from "../gateway/fixture.ts";
import { ShapeService } from "../gateway/gen/shapes/v1/shape_service_pb.ts";
import { type Shape, ShapeSchema } from "../gateway/gen/shapes/v1/shapes_pb.ts";
import { envelope, readConnectOutcome, readGrpcOutcome, readGrpcWebOutcome } from "../support/rpc-wire.ts";

const secret = "what nobody may see";

/** All ways in to one method. `reports` are the codes and causes that it gave. */
function createWays(answer: () => Shape = unwritable) {
  const reports: [code: ErrorCode, cause: unknown][] = [];
  const toError = createErrorReporter(({ code, cause }) => reports.push([code, cause]));
  const limits: Interceptor = (next) => async (request) => {
    const response = await next(request);
    response.header.set("x-ratelimit-limit", "60");
    return response;
  };
  const interceptors = { callInterceptors: [limits], messageInterceptors: [] };
  const spec = createMethodImplSpec(ShapeService.method.getShape, answer);
  const endpoints = [createEndpoint(spec, interceptors) as UnaryEndpoint];
  const notFoundEndpoint = createNotFoundEndpoint(interceptors);
  const rpc = createRpcHandler({ endpoints, notFoundEndpoint, readMaxBytes: 1_000, toError });
  const json = { ...policy, int64: "number" } as const;
  const rest = createGateway({
    endpoints,
    notFoundEndpoint,
    json,
    toError,
    errorBody: errorToRest,
    maxBodyBytes: 1_000,
    registry,
  });
  return { rest, rpc: (exchange: Exchange) => rpc.answer(rpc.recognize(exchange) as RpcRequest), reports };
}

/** What no protocol can write: a text for a number, and a message of an unknown type. */
const unwritable = () => create(ShapeSchema, { small: secret as never, any: { typeUrl: secret } });

const post = { method: "POST", target: "/shapes.v1.ShapeService/GetShape" };

describe("an answer that cannot be written", () => {
  it.each([
    ["Connect's JSON", "application/json", "{}", readConnectOutcome],
    ["Connect's binary", "application/proto", "", readConnectOutcome],
    ["gRPC", "application/grpc", envelope(Buffer.alloc(0)), readGrpcOutcome],
    ["gRPC-Web", "application/grpc-web+proto", envelope(Buffer.alloc(0)), readGrpcWebOutcome],
  ] as const)("over %s is INTERNAL, says nothing, and is reported", async (_title, type, body, read) => {
    const { rpc, reports } = createWays();
    const { header, trailer, text, status } = await send(rpc, { ...post, header: { "content-type": type }, body });
    const bytes = Buffer.from(text, "latin1");
    const answer = { status, headers: header, trailers: trailer ?? new Headers(), bytes, text };
    expect(read(answer).failure).toMatchObject({ code: "INTERNAL", canonical: "internal" });
    expectUntold(`${text} ${[...header].join()} ${[...answer.trailers].join()}`);
    expect(header.get("x-ratelimit-limit")).toBe("60");
    expectReported(reports);
  });

  it("over REST is INTERNAL, says nothing, and is reported", async () => {
    const { rest, reports } = createWays();
    const { header, text, status } = await send(rest, "GET /v1/shapes/7");
    expect(status).toBe(500);
    expect(JSON.parse(text)).toEqual({ code: "INTERNAL", message: expect.any(String), status: 500 });
    expectUntold(`${text} ${[...header].join()}`);
    expect(header.get("x-ratelimit-limit")).toBe("60");
    expectReported(reports);
  });
});

it("reports once that a method has failed", async () => {
  const { rest, rpc, reports } = createWays(() => {
    throw new Error(secret);
  });
  await send(rest, "GET /v1/shapes/7");
  expectReported(reports.splice(0));
  await send(rpc, { ...post, header: { "content-type": "application/json" }, body: "{}" });
  expectReported(reports);
});

function expectUntold(said: string): void {
  expect(said).not.toContain(secret);
  expect(said).not.toMatch(/shapes\.v1|small|cannot/i);
}

/** Once, and with what happened. */
function expectReported(reports: ReturnType<typeof createWays>["reports"]): void {
  expect(reports).toEqual([["INTERNAL", expect.any(Error)]]);
}
