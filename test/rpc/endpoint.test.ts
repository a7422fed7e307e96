import { setTimeout } from "node:timers/promises";
import { create, createRegistry, type DescMethodUnary } from "@bufbuild/protobuf";
import { ConnectError, createMethodImplSpec } from "@connectrpc/connect";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { InventoryService, ListInventoryResponseSchema } from "../../gen/petstore/v1/inventory_service_pb.ts";
import { createEndpoint, createNotFoundEndpoint } from "../../src/rpc/endpoint.ts";
import { PreparedMessage } from "../../src/rpc/prepared-message.ts";
import { createRpcHandler } from "../../src/rpc/rpc-handler.ts";
import type { RpcRequest } from "../../src/rpc/rpc-protocol.ts";
import { createExchange, readBody } from "../gateway/fixture.ts";
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

describe("the deadline of a call whose implementation takes longer", () => {
  const item = { petId: 7n, quantity: 3n };

  /** Calls a method with a deadline in 50 ms. It answers after 250 ms, or with a list at once. */
  async function call(method: DescMethodUnary, list?: PreparedMessage) {
    const interceptors = { callInterceptors: [], messageInterceptors: [] };
    const rpc = createRpcHandler({
      endpoints: [
        createEndpoint(
          createMethodImplSpec(method, () => (list ?? setTimeout(250, { item })) as never),
          interceptors,
        ),
      ],
      notFoundEndpoint: createNotFoundEndpoint(interceptors),
      readMaxBytes: 1_000,
      registry: createRegistry(),
      toError: (reason) => ConnectError.from(reason),
    });
    const exchange = createExchange({
      method: "POST",
      target: `/petstore.v1.InventoryService/${method.name}`,
      header: { "content-type": "application/json", "connect-timeout-ms": "50" },
      body: "{}",
    });
    return readBody(await rpc.answer(rpc.recognize(exchange) as RpcRequest));
  }

  it("ends a read", async () => {
    expect((await call(InventoryService.method.getInventory)).text).toContain("deadline_exceeded");
  });

  it("ends a list whose rest takes longer", async () => {
    const parts = async function* () {
      yield create(ListInventoryResponseSchema, { items: [item] });
      await setTimeout(250);
      yield create(ListInventoryResponseSchema, { items: [item] });
    };
    const whole = () => Promise.reject(new Error("its parts are enough"));
    const list = new PreparedMessage({ parts, whole });
    expect((await call(InventoryService.method.listInventory, list)).text).toContain("deadline_exceeded");
  });

  it("leaves it to a write when it ends", async () => {
    expect((await call(InventoryService.method.updateInventory)).text).toContain('"quantity":"3"');
  });
});
