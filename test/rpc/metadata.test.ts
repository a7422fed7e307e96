import { create } from "@bufbuild/protobuf";
import { anyPack } from "@bufbuild/protobuf/wkt";
import { Code, ConnectError, createMethodImplSpec, type HandlerContext } from "@connectrpc/connect";
import { describe, expect, it } from "vitest";
import { createEndpoint, createNotFoundEndpoint, type UnaryEndpoint } from "../../src/rpc/endpoint.ts";
import { createRpcHandler } from "../../src/rpc/rpc-handler.ts";
import type { RpcRequest } from "../../src/rpc/rpc-protocol.ts";
import { registry, send } from "../gateway/fixture.ts";
import { ShapeService } from "../gateway/gen/shapes/v1/shape_service_pb.ts";
import { type Shape, ShapeSchema } from "../gateway/gen/shapes/v1/shapes_pb.ts";
import { envelope } from "../support/rpc-wire.ts";

/** Calls an implementation over a protocol, by its content type. */
function call(
  type: string,
  implement: (message: Shape, context: HandlerContext) => Shape,
  header: Record<string, string> = {},
  json = "{}",
) {
  const interceptors = { callInterceptors: [], messageInterceptors: [] };
  const spec = createMethodImplSpec(ShapeService.method.getShape, (_request, context) =>
    implement(_request as never, context),
  );
  const rpc = createRpcHandler({
    endpoints: [createEndpoint(spec, interceptors) as UnaryEndpoint],
    notFoundEndpoint: createNotFoundEndpoint(interceptors),
    readMaxBytes: 1_000,
    registry,
    toError: (reason) => ConnectError.from(reason),
  });
  const isGrpc = type.startsWith("application/grpc");
  const message = type.includes("json") ? Buffer.from(json) : Buffer.alloc(0);
  return send((exchange) => rpc.answer(rpc.recognize(exchange) as RpcRequest), {
    method: "POST",
    target: "/shapes.v1.ShapeService/GetShape",
    header: { "content-type": type, ...header },
    body: isGrpc ? envelope(message) : message,
  });
}

function setMetadata({ responseHeader, responseTrailer }: HandlerContext): void {
  responseHeader.append("x-head", "a");
  responseTrailer.append("x-tail", "b");
  responseTrailer.append("x-tail", "c");
}

function fail(_message: Shape, context: HandlerContext): Shape {
  setMetadata(context);
  throw new ConnectError("no", Code.Aborted, { "x-error": "d" });
}

describe("what an implementation has set when it throws", () => {
  it.each(["application/grpc", "application/grpc-web+proto"])("is sent once over %s", async (type) => {
    const { header, trailer, text } = await call(type, fail);
    expect([trailer, text]).toEqual([undefined, ""]);
    const lines = [...header].map((line) => line.join(": "));
    for (const line of ["grpc-status: 10", "x-error: d", "x-head: a", "x-tail: b", "x-tail: c"]) {
      expect(lines.filter((sent) => sent === line)).toHaveLength(1);
    }
  });

  it.each(["application/json", "application/proto"])("is sent over Connect as %s, trailers as such", async (type) => {
    const { header, status } = await call(type, fail);
    expect(status).toBe(409);
    expect([header.get("x-head"), header.get("x-error"), header.get("trailer-x-tail")]).toEqual(["a", "d", "b, c"]);
  });
});

describe("the message of an error", () => {
  const message = ' The stock of pet 7, 12, is low: "50%" of 24 (é, 🐈);\n~.\t ';
  const refuse = () => {
    throw new ConnectError(message, Code.Aborted);
  };

  it.each(["application/grpc", "application/grpc-web+proto"])(
    "is encoded only where gRPC asks for it over %s",
    async (type) => {
      expect((await call(type, refuse)).header.get("grpc-message")).toBe(
        '%20The stock of pet 7, 12, is low: "50%25" of 24 (%C3%A9, %F0%9F%90%88);%0A~.%09%20',
      );
    },
  );

  it("is not encoded over Connect", async () => {
    expect(JSON.parse((await call("application/json", refuse)).text).message).toBe(message);
  });
});

it("tells an implementation its timeout in whole milliseconds", async () => {
  let left: number | undefined;
  const note = (_message: Shape, context: HandlerContext) => {
    left = context.timeoutMs();
    return create(ShapeSchema);
  };
  await call("application/grpc", note, { "grpc-timeout": "1234567u" });
  expect(left).toBeGreaterThan(0);
  expect(Number.isInteger(left)).toBe(true);
});

it("reads and writes messages in an Any as JSON, their 64-bit numbers exactly", async () => {
  const inner = create(ShapeSchema, { big: 9_007_199_254_740_993n });
  const answer = () => create(ShapeSchema, { any: anyPack(ShapeSchema, inner) });
  const { text } = await call("application/json", answer);
  const any = { "@type": "type.googleapis.com/shapes.v1.Shape", big: "9007199254740993" };
  expect(JSON.parse(text)).toEqual({ any });
  const { text: error } = await call("application/json", () => {
    throw new ConnectError("no", Code.Aborted, undefined, [{ desc: ShapeSchema, value: answer() }]);
  });
  expect(JSON.parse(error).details[0].debug).toEqual({ any });
});
