import { once } from "node:events";
import type { Socket } from "node:net";
import { setTimeout as pause, setImmediate } from "node:timers/promises";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { describe, expect, it } from "vitest";
import type { Http2Stream } from "../../../src/http/http2/stream.ts";
import { endHeaders, endStream, frame, headerBlock, requestFrame } from "../../security/http2-frames.ts";
import { type BareClient, openBare, postFrame, settingsFrame, windowFrame } from "./bare-client.ts";
import { added, tableSize } from "./hpack-bytes.ts";
import { serve } from "./served.ts";

const streams = Array.from({ length: 128 }, (_, i) => 2 * i + 1);
const bytes = 150_000;
/** Bytes that differ from place to place. */
const noise = Buffer.from(Uint8Array.from({ length: bytes + 256 }, (_, i) => (i * i) >> 5));
/** Begins elsewhere for each stream. */
const bodyOf = (stream: number) => noise.subarray(stream, stream + bytes);

const wide = [settingsFrame([4, 2 ** 31 - 1]), windowFrame(2 ** 31 - 1 - 65_535)];

describe("128 large answers to a client that reads slowly", () => {
  async function takeSlowly(answer: (stream: Http2Stream, body: Buffer) => unknown): Promise<[BareClient, number]> {
    const served = await serve((stream) => {
      stream.respond(200, [], false);
      void answer(stream, bodyOf(stream.id));
    });
    const client = await openBare(served, ...wide);
    await client.settle();
    client.socket.pause();
    client.send(...streams.map((stream) => requestFrame({ ":path": "/" }, stream)));
    await pause(200);
    const unread = served.sockets[0]?.writableLength ?? Number.NaN;
    for (let round = 0; round < 20; round++) {
      client.socket.resume();
      await once(client.socket, "data");
      client.socket.pause();
      await pause(2);
    }
    client.socket.resume();
    const isEnd = ({ type, flags }: (typeof client.frames)[number]) => type === "data" && flags === endStream;
    await client.until(() => client.frames.filter(isEnd).length === streams.length || undefined, "all answers");
    expect(served.openCount()).toBe(0);
    return [client, unread];
  }

  it.each<[how: string, answer: (stream: Http2Stream, body: Buffer) => unknown]>([
    ["at once", (stream, body) => stream.endWith(body, body.length)],
    [
      "in pieces",
      async (stream, body) => {
        for (let at = 0; at < body.length; at += 50_000) {
          stream.write(body.subarray(at, at + 50_000));
          await stream.drained();
        }
        stream.end();
      },
    ],
  ])("come whole, and wait where they are: %s", async (_how, answer) => {
    const [client, unread] = await takeSlowly(answer);
    // A few frames are made ahead of what the system takes.
    expect(unread).toBeLessThan(300_000);
    for (const stream of streams) {
      expect(client.bodyOf(stream).equals(bodyOf(stream)), `stream ${stream}`).toBe(true);
    }
  });
});

it("a client that reads nothing of what it asks for is given up", async () => {
  const served = await serve((stream) => stream.respond(200, ["x-large", "v".repeat(5_000)], true));
  const client = await openBare(served);
  await client.settle();
  client.socket.pause();
  const socket = served.sockets[0] as Socket;
  for (let asked = 0; !socket.destroyed; asked += 100) {
    client.send(...Array.from({ length: 100 }, (_, i) => requestFrame({ ":path": "/" }, 2 * (asked + i) + 1)));
    while (served.streams.length < asked + 100 && !socket.destroyed) {
      await setImmediate();
    }
    expect(socket.writableLength).toBeLessThan(2 * 1024 * 1024);
  }
});

it("a header table that is filled with empty fields, and then emptied, harms nobody", async () => {
  const served = await serve((stream) => stream.respond(204, [], true));
  const client = await openBare(served);
  const empty = Buffer.concat(Array.from({ length: 129 }, () => added("", "")));
  const get = headerBlock({ ":method": "GET", ":scheme": "http", ":path": "/" });
  for (const [i, payload] of [empty, Buffer.concat([tableSize(0), get])].entries()) {
    client.send(frame("headers", { flags: endHeaders | endStream, stream: 2 * i + 1, payload }));
  }
  await client.find({ type: "headers", stream: 3 });
});

/** The memory of objects and buffers that is in use. */
function keptBytes(): number {
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc") as () => void;
  collect();
  // What the first collection has found is freed beside this thread, and is free when the next one begins.
  collect();
  const { heapUsed, arrayBuffers } = process.memoryUsage();
  return heapUsed + arrayBuffers;
}

it("1,000 connections without streams take little memory", async () => {
  const served = await serve((stream) => stream.respond(200, ["x-a", "b"], true));
  // What comes with a request, or with the beginning of one, is not kept.
  const more = Array.from({ length: 4 }, () => frame("unknown", { payload: Buffer.alloc(13_000) }));
  const connect = async () => {
    const client = await openBare(served);
    await client.find({ type: "settings", flags: 1 });
    served.sockets.at(-1)?.emit("data", Buffer.concat([requestFrame({ ":path": "/" }), ...more, Buffer.of(0)]));
    await client.find({ type: "headers", stream: 1 });
    return client;
  };
  await connect();
  const before = keptBytes();
  const clients: BareClient[] = [];
  while (clients.length < 1_000) {
    clients.push(await connect());
  }
  // Both sides are counted.
  expect((keptBytes() - before) / clients.length).toBeLessThan(40_000);
  expect(served.openCount()).toBe(0);
});

it("a body in pieces keeps nothing of what comes with them", async () => {
  const served = await serve();
  const client = await openBare(served, postFrame());
  await client.settle();
  const before = keptBytes();
  const more = Array.from({ length: 4 }, () => frame("unknown", { payload: Buffer.alloc(16_000) }));
  const piece = frame("data", { stream: 1, payload: Buffer.of(1) });
  for (let i = 0; i < 500; i++) {
    served.sockets[0]?.emit("data", Buffer.concat([piece, ...more]));
  }
  // 32 MB have come with them.
  expect(keptBytes() - before).toBeLessThan(4_000_000);
  expect(served.openCount()).toBe(1);
});
