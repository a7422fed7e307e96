import { create } from "@bufbuild/protobuf";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import type { RpcRequest } from "../../src/rpc/rpc-protocol.ts";
import { createExchange } from "../gateway/fixture.ts";
import { ListShapesResponseSchema } from "../gateway/gen/shapes/v1/shape_service_pb.ts";
import { envelope } from "../support/rpc-wire.ts";
import { createStreamHandler } from "./stream-handler.ts";

async function* messages() {
  yield create(ListShapesResponseSchema);
}

describe("the deadline of a stream that nobody begins to read", () => {
  /** Calls a stream with a deadline in an hour. It opens once `ready` resolves. */
  function open(signal: AbortSignal, ready: Promise<void>) {
    const rpc = createStreamHandler(() => ready.then(() => messages()));
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
    ["before it is open", false],
    ["when it is open", true],
  ])("has no timer once the client has gone away %s", async (_when, isOpen) => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    onTestFinished(() => void vi.useRealTimers());
    const client = new AbortController();
    const ready = Promise.withResolvers<void>();
    const answered = open(client.signal, ready.promise);
    expect(vi.getTimerCount()).toBe(1);
    if (isOpen) {
      ready.resolve();
      await answered;
      expect(vi.getTimerCount()).toBe(1);
    }
    client.abort();
    ready.resolve();
    await answered;
    expect(vi.getTimerCount()).toBe(0);
  });
});
