import { on, once } from "node:events";
import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";
import { Writable } from "node:stream";
import { setTimeout } from "node:timers/promises";
import { beforeEach, describe, expect, it, onTestFinished, vi } from "vitest";
import { Http2Connection } from "../../../src/http/http2/connection.ts";
import { FrameOutput } from "../../../src/http/http2/frame-output.ts";
import { ErrorCode, FrameType } from "../../../src/http/http2/frames.ts";
import type { Http2Stream } from "../../../src/http/http2/stream.ts";
import { endHeaders, frame, headerBlock, openingWith, requestFrame } from "../../security/http2-frames.ts";
import { until } from "../../support/deadline.ts";
import { serve } from "./served.ts";

let server: Server;
/** The server's side of the connection. */
let served: Socket;
/** The streams that have been opened. */
let streams: Http2Stream[];

beforeEach(async () => {
  streams = [];
  server = createServer((socket) => {
    served = socket.on("error", () => {});
    const handlers = {
      onStream: (stream: Http2Stream) => void streams.push(stream),
      onStreamClosed: () => {},
      onBurst: () => {},
    };
    new Http2Connection(socket, handlers, 1_000, 0);
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => void server.close());
});

const head = { ":method": "GET", ":scheme": "http", ":authority": "x", ":path": "/" };

/** Opens a connection that begins with these frames. */
async function open(...frames: readonly Buffer[]): Promise<Socket> {
  const { port } = server.address() as AddressInfo;
  const client = connect({ port, host: "127.0.0.1", noDelay: true }).on("error", () => {});
  onTestFinished(() => void client.destroy());
  client.write(openingWith(...frames));
  await once(client, "data");
  return client;
}

const widened = (bytes: number) => {
  const payload = Buffer.alloc(4);
  payload.writeUInt32BE(bytes);
  return frame("windowUpdate", { payload });
};

/** SETTINGS with these windows of streams, one after the other. */
function windows(...sizes: readonly number[]): Buffer {
  const payload = Buffer.alloc(6 * sizes.length);
  for (const [i, size] of sizes.entries()) {
    payload.writeUInt16BE(4, 6 * i);
    payload.writeUInt32BE(size, 6 * i + 2);
  }
  return frame("settings", { payload });
}

/** Resolves when the server has read all that the client has sent, or the connection has closed. */
async function areRead(client: Socket): Promise<void> {
  const token = `${Math.random()}`.slice(2, 10).padEnd(8, "0");
  client.write(frame("ping", { payload: Buffer.from(token) }));
  let received = "";
  for await (const [bytes] of on(client, "data", { close: ["close"] })) {
    received += (bytes as Buffer).toString("latin1");
    if (received.includes(token)) {
      return;
    }
  }
}

describe("a client that says again and again that it leaves", () => {
  it("has no timer and no listener for that", async () => {
    const client = await open(requestFrame({ ":path": "/" }));
    const before = served.listenerCount("close");
    client.write(Buffer.concat(Array.from({ length: 100 }, () => frame("goAway", { payload: Buffer.alloc(8) }))));
    await areRead(client);
    expect(served.listenerCount("close") - before).toBe(0);
  });
});

describe("a client that sends the headers of streams again and again", () => {
  const again = (stream: number) => requestFrame({ ":path": "/" }, stream);

  it("is cut off, where the stream has been reset", async () => {
    const client = await open(again(1));
    await until(async () => streams.length === 1, 1_000);
    streams[0]?.reset(ErrorCode.internalError);
    client.write(Buffer.concat(Array.from({ length: 20_000 }, () => again(1))));
    await until(async () => client.destroyed, 2_000);
  });

  it("is cut off, where the connection takes no further streams", async () => {
    const client = await open(again(1), frame("goAway", { payload: Buffer.alloc(8) }));
    // So many in one turn of the event loop are a burst.
    for (let first = 3; first < 24_000 && !client.destroyed; first += 400) {
      client.write(Buffer.concat(Array.from({ length: 200 }, (_, i) => again(first + 2 * i))));
      await areRead(client);
    }
    await until(async () => client.destroyed, 2_000);
  });
});

describe("answers that wait for the window of their connection", () => {
  /** As much as the window lets be sent, and more. */
  const body = Buffer.alloc(100_000);

  /** Has this many answers wait. */
  async function openWaiting(count: number): Promise<Socket> {
    const requests = Array.from({ length: count }, (_, i) => requestFrame({ ":path": "/" }, 2 * i + 1));
    const client = await open(windows(1_000_000), ...requests);
    await until(async () => streams.length === count, 1_000);
    for (const stream of streams) {
      stream.respond(200, [], false);
      stream.endWith(body, body.length);
    }
    return client;
  }

  it("send one frame for a window of one byte, each in its turn", async () => {
    const client = await openWaiting(100);
    const sent = streams.map((stream) => vi.spyOn(stream, "sendNext"));
    client.write(Buffer.concat(Array.from({ length: 100 }, () => widened(1))));
    await areRead(client);
    expect(sent.map(({ mock }) => mock.calls.length)).toEqual(streams.map(() => 1));
  });

  it("are forgotten when they are taken back", async () => {
    const client = await openWaiting(1);
    const [first] = streams as [Http2Stream];
    const sent = vi.spyOn(first, "sendNext");
    client.write(frame("reset", { stream: 1, payload: Buffer.of(0, 0, 0, 8) }));
    await areRead(client);
    expect(first.isClosed).toBe(true);
    client.write(widened(1));
    await areRead(client);
    expect(sent).not.toHaveBeenCalled();
  });

  it("are looked at once for many windows in one frame of settings", async () => {
    const client = await openWaiting(1);
    const looks = vi.spyOn(streams[0] as Http2Stream, "widen");
    client.write(windows(...Array.from({ length: 2_000 }, (_, i) => 1_000 + i)));
    await areRead(client);
    expect(looks.mock.calls).toEqual([[2_999 - 1_000_000]]);
  });
});

describe("frames that the client does not read", () => {
  it("take little more memory than their bytes, however they come", async () => {
    let memory = 0;
    const kept = new Set<ArrayBufferLike>();
    const stuck = new Writable({ highWaterMark: 16 * 1024, write: () => {} });
    const write = stuck.write.bind(stuck);
    vi.spyOn(stuck, "write").mockImplementation((bytes: Buffer) => {
      memory += kept.has(bytes.buffer) ? 0 : bytes.buffer.byteLength;
      kept.add(bytes.buffer);
      return write(bytes);
    });
    const output = new FrameOutput(stuck as Socket);
    for (let i = 0; i < 2_000; i++) {
      output.begin(FrameType.ping, 1, 0);
      output.writeBytes(Buffer.alloc(8));
      output.end();
      await new Promise((resolve) => setImmediate(resolve));
    }
    expect(output.unsentBytes).toBe(2_000 * 17);
    expect(memory).toBeLessThan(200_000);
  });

  it("are sent when it reads again", async () => {
    const client = await open(windows(0x7fff_ffff), widened(0x7000_0000), requestFrame({ ":path": "/" }));
    client.pause();
    await until(async () => streams.length === 1, 1_000);
    const [first] = streams as [Http2Stream];
    first.respond(200, [], false);
    first.write(Buffer.alloc(20_000_000));
    await until(async () => served.writableNeedDrain, 1_000);
    client.write(frame("ping", { payload: Buffer.from("lastping") }));
    await until(async () => served.bytesRead === client.bytesWritten, 1_000);
    const received: Buffer[] = [];
    client.on("data", (bytes: Buffer) => void received.push(bytes)).resume();
    await until(async () => served.bytesWritten > 20_000_000, 2_000);
    await until(async () => Buffer.concat(received).includes("lastping"), 2_000);
  });
});

describe("pieces of bodies that are waited for", () => {
  it.each([
    ["nobody has begun to read", false],
    ["somebody has begun to read", true],
  ])("are kept without what came with them, if %s", async (_title, isBegun) => {
    const client = await open(
      frame("headers", { flags: endHeaders, stream: 1, payload: headerBlock({ ...head, ":method": "POST" }) }),
    );
    await until(async () => streams.length === 1, 1_000);
    const { incoming } = streams[0] as Http2Stream;
    if (isBegun) {
      incoming.stream.pause();
    }
    const unknown = frame("unknown", { payload: Buffer.alloc(15_000) });
    for (let i = 0; i < 10; i++) {
      client.write(Buffer.concat([frame("data", { stream: 1, payload: Buffer.of(i) }), unknown, unknown]));
      await areRead(client);
    }
    const pieces: Buffer[] = [];
    incoming.stream.on("data", (piece: Buffer) => void pieces.push(piece)).resume();
    await until(async () => Buffer.concat(pieces).length === 10, 1_000);
    expect(Buffer.concat(pieces)).toEqual(Buffer.of(0, 1, 2, 3, 4, 5, 6, 7, 8, 9));
    for (const { buffer } of pieces) {
      expect(buffer.byteLength).toBeLessThan(16_384);
    }
  });
});

describe("an answer with a trailer that HTTP does not allow", () => {
  it("is refused behind its body, and gets no second head", async () => {
    const client = await open(requestFrame({ ":path": "/" }));
    await until(async () => streams.length === 1, 1_000);
    const [first] = streams as [Http2Stream];
    first.respond(200, [], false);
    first.write(Buffer.alloc(100_000));
    expect(() => first.end(["x-trailer", "a\r\nb"])).toThrow(TypeError);
    expect(() => first.respond(500, [], true)).toThrow("already");
    client.write(widened(1_000_000));
    await areRead(client);
  });
});

describe("a head that does not end", () => {
  const block = headerBlock(head);
  /** The first bytes of a head of 16 KB, and a head without its last frame. */
  const beginnings: [what: string, bytes: Buffer][] = [
    ["within a frame", frame("headers", { stream: 1, payload: Buffer.alloc(16_384) }).subarray(0, 20)],
    ["between two frames", frame("headers", { stream: 1, payload: block })],
  ];

  it.each(beginnings)("ends its connection after the time for a head: %s", async (_what, bytes) => {
    const { connections, port } = await serve(undefined, 3_000);
    const client = connect(port, "127.0.0.1").on("error", () => {});
    onTestFinished(() => void client.destroy());
    const closed = once(client, "close");
    client.write(openingWith(bytes));
    await once(client, "data");
    await setTimeout(100);
    const [connection] = connections as [Http2Connection];
    for (let second = 0; second < 3; second += 1) {
      connection.tick();
    }
    expect(client.closed).toBe(false);
    connection.tick();
    await closed;
  });

  it("is another one when one has ended", async () => {
    const { connections, port } = await serve(undefined, 3_000);
    const client = connect(port, "127.0.0.1").on("error", () => {});
    onTestFinished(() => void client.destroy());
    client.write(openingWith(frame("headers", { stream: 1, payload: block })));
    await once(client, "data");
    for (let stream = 3; stream < 15; stream += 2) {
      client.write(frame("continuation", { stream: stream - 2, flags: endHeaders, payload: Buffer.alloc(0) }));
      client.write(frame("headers", { stream, payload: block }));
      await setTimeout(20);
      connections[0]?.tick();
    }
    expect(client.closed).toBe(false);
  });
});
