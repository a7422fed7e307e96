import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { create } from "@bufbuild/protobuf";
import { createMethodImplSpec } from "@connectrpc/connect";
import { expect, it } from "vitest";
import { InventoryService } from "../../gen/petstore/v1/inventory_service_pb.ts";
import { type FoundKey, mintSecret } from "../../src/domain/key.ts";
import { authInterceptor, createIdentify } from "../../src/interceptors/auth.ts";
import { errorCodeOf, toConnectError } from "../../src/interceptors/errors.ts";
import { KeyStreams } from "../../src/interceptors/streams.ts";
import { Call, type StreamCallResponse } from "../../src/rpc/call.ts";
import { createEndpoint } from "../../src/rpc/endpoint.ts";
import { createKeyCache } from "../../src/storage/key-cache.ts";
import { createExchange } from "../gateway/fixture.ts";
import { createKey } from "../storage/samples.ts";

const { watchStockChanges } = InventoryService.method;

it("a stream ends whose key was revoked while the store looked it up", async () => {
  const lookUp = Promise.withResolvers<FoundKey>();
  const revoked = { key: createKey({ id: "key_a", revokedAtMs: 1 }), endsAtMs: Infinity };
  const answers = [lookUp.promise];
  const listeners: (() => void)[] = [];
  const changeKeys = () => listeners.map((listener) => listener());
  const keys = createKeyCache(
    { findKey: async () => answers.shift() ?? revoked },
    { subscribe: (_topic, listener) => listeners.push(listener), silenceMs: () => 0 },
  );
  const identify = createIdentify(keys, Date.now);
  const streams = new KeyStreams({
    identify,
    onKeysChanged: (listener) => listeners.push(listener),
    clock: Date.now,
    stopping: new AbortController().signal,
    places: undefined,
  });
  async function* messages(signal: AbortSignal) {
    if (!signal.aborted) {
      await once(signal, "abort");
    }
    signal.throwIfAborted();
    yield {};
  }
  const spec = createMethodImplSpec(
    watchStockChanges,
    (_request, { signal }) => Promise.resolve(messages(signal)) as never,
  );
  const callInterceptors = [authInterceptor(identify), streams];
  const endpoint = createEndpoint(spec, { callInterceptors, messageInterceptors: [] });
  const exchange = createExchange({
    method: "POST",
    target: "/",
    header: { authorization: `Bearer ${mintSecret(randomBytes)}` },
  });
  const read = async () => create(watchStockChanges.input);
  const call = new Call(watchStockChanges as never, { exchange, protocolName: "none", timeoutMs: undefined, read });

  const opening = endpoint.handle(call);
  changeKeys();
  lookUp.resolve({ key: createKey({ id: "key_a" }), endsAtMs: Infinity });
  const { message } = (await opening) as StreamCallResponse;
  const reason = await message[Symbol.asyncIterator]()
    .next()
    .catch((error: unknown) => error);
  expect(errorCodeOf(toConnectError(reason))).toBe("API_KEY_REVOKED");
  expect(streams.counts).toMatchObject({ open: 0, opened: 1 });
});
