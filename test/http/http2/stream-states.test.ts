import { setImmediate } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { ErrorCode } from "../../../src/http/http2/frames.ts";
import type { Http2Stream } from "../../../src/http/http2/stream.ts";
import { endHeaders, endStream, frame, headerBlock, requestFrame } from "../../security/http2-frames.ts";
import { type BareClient, openBare, postFrame, resetFrame, settingsFrame, windowFrame } from "./bare-client.ts";
import { ask, connectNode, echo, readAll, type Served, serve } from "./served.ts";

const data = (stream = 1, flags = 0) => frame("data", { stream, flags, payload: Buffer.from("body") });
const get = (stream = 1) => requestFrame({ ":path": "/" }, stream);
const trailer = (fields: Record<string, string> = { "x-a": "b" }, flags = endHeaders | endStream) =>
  frame("headers", { stream: 1, flags, payload: headerBlock(fields) });

/** What stream 1 may have come to, and how. */
const states = {
  async closed(): Promise<[Served, BareClient]> {
    const served = await serve((stream) => stream.respond(204, [], true));
    const client = await openBare(served, get());
    await client.find({ type: "headers", stream: 1 });
    return [served, client];
  },
  async "reset by the client"(): Promise<[Served, BareClient]> {
    const served = await serve();
    return [served, await openBare(served, postFrame(), resetFrame(1))];
  },
  async "reset by the server"(): Promise<[Served, BareClient]> {
    const served = await serve((stream) => (stream.id === 1 ? stream.reset(ErrorCode.cancel) : undefined));
    const client = await openBare(served, postFrame());
    await client.resetOf(1);
    return [served, client];
  },
  async "half-closed"(): Promise<[Served, BareClient]> {
    const served = await serve();
    return [served, await openBare(served, get())];
  },
  async idle(): Promise<[Served, BareClient]> {
    const served = await serve();
    return [served, await openBare(served)];
  },
};

type What = "is ignored" | "resets the stream" | "ends the connection";

describe("a frame of a stream that takes no such frame", () => {
  it.each<[state: keyof typeof states, frame: string, bytes: Buffer, what: What, code: ErrorCode]>([
    ["closed", "DATA", data(), "ends the connection", ErrorCode.streamClosed],
    ["closed", "HEADERS", get(), "ends the connection", ErrorCode.streamClosed],
    ["closed", "RST_STREAM", resetFrame(1), "is ignored", 0],
    ["closed", "WINDOW_UPDATE", windowFrame(1, 1), "is ignored", 0],
    ["reset by the client", "DATA", data(), "ends the connection", ErrorCode.streamClosed],
    ["reset by the client", "HEADERS", trailer(), "ends the connection", ErrorCode.streamClosed],
    ["reset by the server", "DATA", data(), "is ignored", 0],
    ["reset by the server", "HEADERS", trailer(), "is ignored", 0],
    ["reset by the server", "RST_STREAM", resetFrame(1), "is ignored", 0],
    ["reset by the server", "WINDOW_UPDATE", windowFrame(1, 1), "is ignored", 0],
    ["half-closed", "DATA", data(), "resets the stream", ErrorCode.streamClosed],
    ["half-closed", "HEADERS", trailer(), "resets the stream", ErrorCode.streamClosed],
    ["half-closed", "WINDOW_UPDATE", windowFrame(1, 1), "is ignored", 0],
    ["idle", "DATA", data(), "ends the connection", ErrorCode.protocolError],
    ["idle", "RST_STREAM", resetFrame(1), "ends the connection", ErrorCode.protocolError],
    ["idle", "WINDOW_UPDATE", windowFrame(1, 1), "ends the connection", ErrorCode.protocolError],
    ["idle", "PRIORITY", frame("priority", { stream: 1, payload: Buffer.of(0, 0, 0, 3, 1) }), "is ignored", 0],
  ])("%s: %s", async (state, _frame, bytes, what, code) => {
    const [served, client] = await states[state]();
    client.send(bytes);
    if (what === "ends the connection") {
      expect(await client.endCode()).toBe(code);
      expect(served.openCount()).toBe(0);
      return;
    }
    const resets = client.frames.filter(({ type }) => type === "reset").length;
    client.send(get(3));
    await client.settle();
    expect(served.streams.at(-1)?.id).toBe(3);
    const wasReset = client.frames.filter(({ type }) => type === "reset").slice(resets);
    expect(wasReset.map(({ payload }) => payload.readUInt32BE())).toEqual(what === "is ignored" ? [] : [code]);
  });

  it.each([1, 3, 5])("is the end, if it opens stream %i behind stream 7, which came before", async (stream) => {
    const client = await openBare(await serve(), get(7), get(stream));
    expect(await client.endCode()).toBe(ErrorCode.protocolError);
  });

  it("has the table of headers as the client has it, though it is ignored", async () => {
    const [served, client] = await states["reset by the server"]();
    const added = Buffer.concat([Buffer.of(0x40, 3), Buffer.from("x-a"), Buffer.of(1), Buffer.from("b")]);
    client.send(frame("headers", { stream: 1, flags: endHeaders | endStream, payload: added }));
    const block = Buffer.concat([headerBlock({ ":method": "GET", ":scheme": "http", ":path": "/" }), Buffer.of(0xbe)]);
    client.send(frame("headers", { stream: 3, flags: endHeaders | endStream, payload: block }));
    await client.settle();
    expect(served.streams.at(-1)?.head.rawHeaders.slice(-2)).toEqual(["x-a", "b"]);
  });
});

it.each<[why: string, bytes: Buffer]>([
  ["that does not end the stream", trailer({ "x-a": "b" }, endHeaders)],
  ["with a pseudo-header", trailer({ ":path": "/" })],
  ["with a name in upper case", trailer({ "X-A": "b" })],
  ["with a connection's header", trailer({ connection: "close" })],
])("a trailer %s resets the stream", async (_why, bytes) => {
  const served = await serve();
  const client = await openBare(served, postFrame(), data(), bytes);
  expect(await client.resetOf(1)).toBe(ErrorCode.protocolError);
  expect(served.openCount()).toBe(0);
});

describe("a stream that its client resets", () => {
  /** What the service's side of a stream does that outlives it. */
  const sides: Record<string, (stream: Http2Stream) => Promise<unknown>> = {
    "while it has no answer": async (stream) => new Promise<void>((resolve) => stream.onClose(resolve)),
    "while its body is read": async (stream) => expect(readAll(stream)).rejects.toThrow(),
    "while its answer waits": async (stream) => {
      stream.respond(200, [], false);
      stream.write(Buffer.alloc(100_000));
      await stream.drained();
    },
    "while its whole answer waits": async (stream) => {
      stream.respond(200, [], false);
      stream.endWith(Buffer.alloc(100_000), 100_000, ["x-a", "b"]);
      await stream.drained();
    },
  };

  it.each(Object.keys(sides))("closes, and whoever waits for it goes on: %s", async (title) => {
    let done = Promise.resolve<unknown>(undefined);
    const served = await serve((stream) => {
      if (stream.id === 1) {
        done = (sides[title] as (typeof sides)[string])(stream);
      } else {
        void echo(stream);
      }
    });
    const client = await openBare(served, settingsFrame([4, 10]), postFrame());
    await client.settle();
    client.send(resetFrame(1));
    await client.settle();
    await done;
    const [stream] = served.streams;
    expect([stream?.isClosed, served.openCount()]).toEqual([true, 0]);
    // What comes of it later is not sent.
    const before = client.frames.length;
    stream?.write(Buffer.from("late"));
    stream?.end(["x-a", "b"]);
    stream?.reset(ErrorCode.internalError);
    await setImmediate();
    client.send(get(3));
    await client.find({ type: "data", stream: 3 });
    expect(client.frames.slice(before).map((found) => found.stream)).not.toContain(1);
  });
});

describe("a stream that the service gives up", () => {
  it.each<[how: string, abandon: (stream: Http2Stream) => void, code: ErrorCode]>([
    ["by a reset", (stream) => stream.reset(ErrorCode.internalError), ErrorCode.internalError],
    ["as it reads no more of the body", (stream) => stream.incoming.stream.destroy(), ErrorCode.enhanceYourCalm],
    [
      "half-way through its answer",
      (stream) => {
        stream.respond(200, [], false);
        stream.write(Buffer.alloc(100_000));
        stream.reset(ErrorCode.internalError);
      },
      ErrorCode.internalError,
    ],
    [
      "behind its answer",
      (stream) => {
        stream.resetAfterAnswer();
        stream.respond(200, [], true);
      },
      ErrorCode.noError,
    ],
  ])("is reset, and the connection goes on: %s", async (_how, abandon, code) => {
    const served = await serve((stream) => (stream.id === 1 ? abandon(stream) : void echo(stream)));
    const client = await openBare(served, windowFrame(100_000), postFrame(), data());
    expect(await client.resetOf(1)).toBe(code);
    client.send(data(1, endStream), postFrame(3), data(3, endStream));
    await client.find({ type: "data", stream: 3, flags: endStream });
    expect(served.openCount()).toBe(0);
  });

  it("is reset if nothing of its answer can be sent between two looks", async () => {
    const served = await serve((stream) => {
      stream.respond(200, [], false);
      stream.endWith(Buffer.alloc(20), 20);
    });
    const client = await openBare(served, settingsFrame([4, 1]), get());
    await client.find({ type: "data" });
    minuteOf(served);
    client.send(windowFrame(1, 1));
    await client.settle();
    minuteOf(served);
    await client.settle();
    expect(served.openCount()).toBe(1);
    minuteOf(served);
    expect(await client.resetOf(1)).toBe(ErrorCode.cancel);
  });
});

/** Lets the connection's clock tick for a minute. */
function minuteOf({ connections: [connection] }: Served): void {
  for (let second = 0; second < 60; second++) {
    connection?.tick();
  }
}

it("the 129th stream at a time is refused, and served when there is room", async () => {
  const served = await serve((stream) => (stream.id > 257 ? stream.respond(204, [], true) : undefined));
  const streams = Array.from({ length: 129 }, (_, i) => 2 * i + 1);
  const client = await openBare(served, ...streams.map((stream) => get(stream)));
  expect(await client.resetOf(257)).toBe(ErrorCode.refusedStream);
  expect(served.openCount()).toBe(128);
  client.send(resetFrame(1), get(259));
  await client.find({ type: "headers", stream: 259 });
});

it("an answer may come before its request has ended, and the request goes on", async () => {
  const served = await serve(async (stream) => {
    stream.respond(200, [], true);
    await readAll(stream);
  });
  const session = await connectNode(served);
  await ask(session, { ":method": "POST" }, Buffer.alloc(200_000));
  while (served.openCount() > 0) {
    await setImmediate();
  }
  expect(served.streams[0]?.incoming.isEnded).toBe(true);
});
