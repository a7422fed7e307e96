import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { setTimeout } from "node:timers/promises";
import { create } from "@bufbuild/protobuf";
import { createMethodImplSpec, type HandlerContext } from "@connectrpc/connect";
import { expect, it, vi } from "vitest";
import { InventoryService } from "../../gen/petstore/v1/inventory_service_pb.ts";
import { apiKeyRevoked, scopeMissing, storeUnavailable } from "../../src/domain/errors.ts";
import { type FoundKey, mintSecret } from "../../src/domain/key.ts";
import { authInterceptor, type Caller, callerKey, createIdentify } from "../../src/interceptors/auth.ts";
import { uncountedRefusal } from "../../src/interceptors/limits.ts";
import {
  AnonymousStreams,
  KeyStreams,
  type KeyStreamsOptions,
  type StreamPlaces,
} from "../../src/interceptors/streams.ts";
import { Call, type StreamCallResponse } from "../../src/rpc/call.ts";
import { createEndpoint } from "../../src/rpc/endpoint.ts";
import { KeyCache } from "../../src/storage/key-cache.ts";
import { createExchange } from "../gateway/fixture.ts";
import { createKey } from "../storage/samples.ts";

const { watchStockChanges } = InventoryService.method;

function createStreams(options: Pick<KeyStreamsOptions, "identify"> & Partial<KeyStreamsOptions>) {
  const { signal: stopping } = new AbortController();
  return new KeyStreams({ onKeysChanged: () => {}, clock: Date.now, stopping, places: undefined, ...options });
}

function createCall(): Call {
  const header = { authorization: `Bearer ${mintSecret(randomBytes)}` };
  const exchange = createExchange({ method: "POST", target: "/", header });
  const read = async () => create(watchStockChanges.input);
  return new Call(watchStockChanges as never, { exchange, protocolName: "none", timeoutMs: undefined, read });
}

it.each<[title: string, take: StreamPlaces["take"], counts: object]>([
  ["with a place counts as opened", async () => ({ leave() {} }), { opened: 1, refused: 0 }],
  ["that finds all places taken counts as refused", async () => undefined, { opened: 0, refused: 1 }],
  [
    "whose places nobody knows counts as refused",
    () => Promise.reject(storeUnavailable(undefined)),
    { opened: 0, refused: 1 },
  ],
  ["whose place fails counts as neither", () => Promise.reject(new TypeError()), { opened: 0, refused: 0 }],
])("a stream %s, and leaves", async (_title, take, counts) => {
  const caller = { key: createKey({ id: "key_a" }), endsAtMs: Infinity };
  const streams = createStreams({ identify: async () => caller, places: { take } });
  const handle = streams.wrap(async () => ({ message: [] }) as never, watchStockChanges);
  const call = createCall();
  call.contextValues.set(callerKey, caller);
  const response = await handle(call).catch(() => undefined);
  await Array.fromAsync((response as StreamCallResponse | undefined)?.message ?? []);
  expect(streams.counts).toMatchObject({ ...counts, open: 0 });
});

it("a stream that is refused behind its place counts as neither", async () => {
  const caller = { key: createKey({ id: "key_a" }), endsAtMs: Infinity };
  const streams = createStreams({ identify: async () => caller });
  const handle = streams.wrap(() => Promise.reject(scopeMissing("inventory:read")), watchStockChanges);
  const call = createCall();
  call.contextValues.set(callerKey, caller);
  await expect(handle(call)).rejects.toThrow();
  expect(streams.counts).toMatchObject({ opened: 0, refused: 0, open: 0 });
});

it("a stream that is refused because the server stops is no failure of the service", async () => {
  const caller = { key: createKey({ id: "key_a" }), endsAtMs: Infinity };
  const streams = createStreams({ identify: async () => caller, stopping: AbortSignal.abort() });
  const call = createCall();
  const refuse = async () => Promise.reject(call.contextValues.get(uncountedRefusal));
  call.contextValues.set(callerKey, caller);
  await expect(streams.wrap(refuse, watchStockChanges)(call)).rejects.toMatchObject({ code: "UNAVAILABLE" });
  expect(call.exchange.record.isStopped).toBe(true);
  expect(streams.counts).toMatchObject({ opened: 0, refused: 1, open: 0 });
});

it("a stream is refused whose key was revoked while the store looked it up", async () => {
  const lookUp = Promise.withResolvers<FoundKey>();
  const revoked = { key: createKey({ id: "key_a", revokedAtMs: 1 }), endsAtMs: Infinity };
  const answers = [lookUp.promise];
  const listeners: (() => void)[] = [];
  const changeKeys = () => listeners.map((listener) => listener());
  const keys = new KeyCache(
    { findKey: async () => answers.shift() ?? revoked },
    { subscribe: (_topic, listener) => listeners.push(listener), silenceMs: () => 0 },
    Infinity,
  );
  const identify = createIdentify(keys, Date.now);
  const streams = createStreams({ identify, onKeysChanged: (listener) => listeners.push(listener) });
  const open = async ({ signal }: HandlerContext) => {
    if (!signal.aborted) {
      await once(signal, "abort");
    }
    return [];
  };
  const spec = createMethodImplSpec(watchStockChanges, (_request, context) => open(context) as never);
  const callInterceptors = [authInterceptor(identify), streams];
  const endpoint = createEndpoint(spec, { callInterceptors, messageInterceptors: [] });

  const opening = endpoint.handle(createCall());
  changeKeys();
  lookUp.resolve({ key: createKey({ id: "key_a" }), endsAtMs: Infinity });
  await expect(opening).rejects.toMatchObject({ code: "API_KEY_REVOKED" });
  expect(streams.counts).toMatchObject({ open: 0, opened: 0 });
});

it("a stream ends with its key although the store could not be read when the key changed", async () => {
  const caller = { key: createKey({ id: "key_a" }), endsAtMs: Infinity };
  const revoked = { key: undefined, refusal: apiKeyRevoked() };
  const answers: Caller[] = [caller, { key: undefined, refusal: storeUnavailable(undefined) }];
  const listeners: (() => void)[] = [];
  const identify = async () => answers.shift() ?? revoked;
  const streams = createStreams({ identify, onKeysChanged: (listener) => listeners.push(listener) });
  const call = createCall();
  call.contextValues.set(callerKey, caller);
  await streams.wrap(async () => ({ message: [] }) as never, watchStockChanges)(call);
  for (const changeKeys of listeners) {
    changeKeys();
  }
  const { signal } = call.signals.ending;
  await expect.poll(() => signal.reason, { timeout: 1_000 }).toMatchObject({ code: "API_KEY_REVOKED" });
});

it.each<[title: string, lookUp: () => Promise<Caller>]>([
  ["cannot be read", async () => ({ key: undefined, refusal: storeUnavailable(undefined) })],
  ["does not answer", () => new Promise(() => {})],
])("a stream ends when its key expires, and not before, although the store %s", async (_title, lookUp) => {
  const caller = { key: createKey({ id: "key_a" }), endsAtMs: Date.now() + 700 };
  const streams = createStreams({ identify: lookUp });
  const call = createCall();
  call.contextValues.set(callerKey, caller);
  await streams.wrap(async () => ({ message: [] }) as never, watchStockChanges)(call);
  const { signal } = call.signals.ending;
  await setTimeout(600);
  expect(signal.aborted).toBe(false);
  await expect.poll(() => signal.reason, { timeout: 1_500 }).toMatchObject({ code: "API_KEY_EXPIRED" });
});

it.each<[title: string, slow: "place" | "answer"]>([
  ["waits for its place", "place"],
  ["waits for its answer", "answer"],
])("a stream that %s is refused when the server stops, and is not cut", async (_title, slow) => {
  const late = Promise.withResolvers<void>();
  const stopping = new AbortController();
  const caller = { key: createKey({ id: "key_a" }), endsAtMs: Infinity };
  const leave = vi.fn();
  const take = async () => {
    await (slow === "place" && late.promise);
    return { leave };
  };
  const identify = async () => caller;
  const streams = createStreams({ identify, stopping: stopping.signal, places: { take } });
  const call = createCall();
  const abort = vi.spyOn(call.exchange, "abort");
  call.contextValues.set(callerKey, caller);
  const answer = async () => {
    await (slow === "answer" && late.promise);
    return { message: [] } as never;
  };
  const opening = streams.wrap(answer, watchStockChanges)(call);
  void setTimeout(10).then(() => stopping.abort());
  void setTimeout(700).then(late.resolve);
  if (slow === "place") {
    // The limits refuse it, and do not charge it.
    await opening;
    expect(call.contextValues.get(uncountedRefusal)).toMatchObject({ code: "UNAVAILABLE" });
    expect(streams.counts).toMatchObject({ open: 0, opened: 0, refused: 1 });
  } else {
    await expect(opening).rejects.toMatchObject({ code: "UNAVAILABLE" });
    expect(streams.counts).toMatchObject({ open: 0, opened: 0 });
  }
  expect(leave).toHaveBeenCalledOnce();
  expect(abort).not.toHaveBeenCalled();
});

it("many streams look their keys up a few at a time", async () => {
  const caller = { key: createKey({ id: "key_a" }), endsAtMs: Infinity };
  const lookUps: PromiseWithResolvers<Caller>[] = [];
  const identify = () => {
    const lookUp = Promise.withResolvers<Caller>();
    lookUps.push(lookUp);
    return lookUp.promise;
  };
  const streams = createStreams({ identify });
  const handle = streams.wrap(async () => ({ message: [] }) as never, watchStockChanges);
  for (let i = 0; i < 300; i += 1) {
    const call = createCall();
    call.contextValues.set(callerKey, { ...caller, key: createKey({ id: `key_${i}` }) });
    await handle(call);
  }
  expect(lookUps).toHaveLength(256);
  lookUps[0]?.resolve(caller);
  await expect.poll(() => lookUps.length).toBe(257);
});

it("a stream without a key leaves once, however often it is told to", () => {
  const streams = new AnonymousStreams();
  const enter = () => streams.enter("192.0.2.1");
  const all = Array.from({ length: 64 }, enter);
  expect(enter().refusal?.code).toBe("RATE_LIMIT_EXCEEDED");
  all[0]?.leave();
  all[0]?.leave();
  expect([enter().refusal, enter().refusal?.code]).toEqual([undefined, "RATE_LIMIT_EXCEEDED"]);
});
