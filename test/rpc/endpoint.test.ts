import { ConnectError, createMethodImplSpec } from "@connectrpc/connect";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { createEndpoint, createNotFoundEndpoint } from "../../src/rpc/endpoint.ts";
import { createRpcHandler } from "../../src/rpc/rpc-handler.ts";
import type { RpcRequest } from "../../src/rpc/rpc-protocol.ts";
import { createExchange, registry } from "../gateway/fixture.ts";
import { ShapeService } from "../gateway/gen/shapes/v1/shape_service_pb.ts";
import { envelope } from "../support/rpc-wire.ts";

describe("the deadline of a stream that nobody begins to read", () => {
  /** Opens a stream with a deadline in an hour. Its first message waits for `first`. */
  function open(signal: AbortSignal, first: Promise<unknown>) {
    const interceptors = { callInterceptors: [], messageInterceptors: [] };
    const spec = createMethodImplSpec(ShapeService.method.watchShapes, async function* () {
      await first;
      yield {};
    });
    const rpc = createRpcHandler({
      endpoints: [createEndpoint(spec, interceptors)],
      notFoundEndpoint: createNotFoundEndpoint(interceptors),
      readMaxBytes: 1_000,
      registry,
      toError: (reason) => ConnectError.from(reason),
    });
    const exchange = createExchange({
      method: "POST",
      target: "/shapes.v1.ShapeService/WatchShapes",
      header: { "content-type": "application/grpc", "grpc-timeout": "1H" },
      body: envelope(Buffer.alloc(0)),
      signal,
    });
    return rpc.answer(rpc.recognize(exchange) as RpcRequest);
  }

  it.each<[when: string, isOpen: boolean]>([
    ["before the first message is ready", false],
    ["when the first message is ready", true],
  ])("has no timer once the client has gone away %s", async (_when, isOpen) => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    onTestFinished(() => void vi.useRealTimers());
    const client = new AbortController();
    const first = Promise.withResolvers<void>();
    const answered = open(client.signal, first.promise);
    expect(vi.getTimerCount()).toBe(1);
    if (isOpen) {
      first.resolve();
      await answered;
      expect(vi.getTimerCount()).toBe(1);
    }
    client.abort();
    first.resolve();
    await answered;
    expect(vi.getTimerCount()).toBe(0);
  });
});
