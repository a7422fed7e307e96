import { setTimeout as pause } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { ErrorCode } from "../../../src/http/http2/frames.ts";
import type { Http2Stream } from "../../../src/http/http2/stream.ts";
import { endStream, frame, requestFrame } from "../../security/http2-frames.ts";
import { until } from "../../support/deadline.ts";
import { type BareClient, openBare, postFrame, resetFrame, settingsFrame, windowFrame } from "./bare-client.ts";
import { ask, connectNode, echo, readAll, serve } from "./served.ts";

const get = (stream = 1) => requestFrame({ ":path": "/" }, stream);
/** SETTINGS_INITIAL_WINDOW_SIZE. */
const streamWindow = (bytes: number) => settingsFrame([4, bytes]);
/** Bytes that tell where they are. */
const countedBytes = (length: number) => Buffer.from(Uint8Array.from({ length }, (_, i) => i ^ (i >> 8)));

/** Serves these bytes to every request. */
function serveBody(body: Buffer, trailer?: readonly string[]) {
  return serve((stream) => {
    stream.respond(200, [], false);
    stream.endWith(body, body.length, trailer);
  });
}

/** Waits until so many bytes have come, and for more that should not come. */
async function expectSent(client: BareClient, stream: number, bytes: number): Promise<void> {
  await client.until(() => client.bodyOf(stream).length >= bytes || undefined, `${bytes} bytes`);
  await client.settle();
  expect(client.bodyOf(stream)).toHaveLength(bytes);
}

describe("an answer takes no more than the client's windows allow", () => {
  it("of the stream, which may be a byte at a time", async () => {
    const body = countedBytes(300);
    const client = await openBare(await serveBody(body), streamWindow(0), get());
    await client.find({ type: "headers" });
    await expectSent(client, 1, 0);
    for (let bytes = 1; bytes <= body.length; bytes++) {
      client.send(windowFrame(1, 1));
      await client.until(() => client.bodyOf(1).length === bytes || undefined);
    }
    expect(client.bodyOf(1)).toEqual(body);
    expect(client.frames.at(-1)).toMatchObject({ type: "data", flags: endStream });
  });

  it("of the connection, which may be a byte at a time", async () => {
    const body = countedBytes(65_535 + 100);
    const client = await openBare(await serveBody(body), streamWindow(1_000_000), get());
    await expectSent(client, 1, 65_535);
    for (let bytes = 1; bytes <= 100; bytes++) {
      client.send(windowFrame(1));
      await client.until(() => client.bodyOf(1).length === 65_535 + bytes || undefined);
    }
    expect(client.bodyOf(1)).toEqual(body);
  });

  it("but for its head, its trailer and an empty end", async () => {
    const served = await serve((stream) => {
      stream.respond(200, [], false);
      stream.end(stream.id === 1 ? ["x-a", "b"] : undefined);
    });
    const client = await openBare(served, streamWindow(0), get(1), get(3));
    expect(await client.find({ stream: 1, flags: 5 })).toMatchObject({ type: "headers", fields: ["x-a: b"] });
    expect(await client.find({ stream: 3, flags: 1 })).toMatchObject({ type: "data", payload: Buffer.alloc(0) });
  });

  it("and its trailer comes behind the last of the body", async () => {
    const client = await openBare(await serveBody(countedBytes(10), ["x-a", "b"]), streamWindow(9), get());
    await expectSent(client, 1, 9);
    expect(client.frames.filter(({ type }) => type === "headers")).toHaveLength(1);
    client.send(windowFrame(1, 1));
    await client.find({ type: "headers", flags: 5 });
    expect(client.bodyOf(1)).toHaveLength(10);
  });

  it("and sends each frame after the acknowledgement of the settings that allow it", async () => {
    const client = await openBare(await serveBody(countedBytes(10)), streamWindow(0), get());
    await client.find({ type: "headers" });
    const before = client.frames.length;
    client.send(streamWindow(4));
    await expectSent(client, 1, 4);
    const types = client.frames.slice(before).map(({ type, flags }) => `${type} ${flags}`);
    expect(types.slice(0, 2)).toEqual(["settings 1", "data 0"]);
  });

  it("though a setting makes them negative", async () => {
    const body = countedBytes(30);
    const client = await openBare(await serveBody(body), streamWindow(20), get());
    await expectSent(client, 1, 20);
    client.send(streamWindow(5), windowFrame(15, 1));
    await expectSent(client, 1, 20);
    client.send(windowFrame(1, 1));
    await expectSent(client, 1, 21);
    client.send(streamWindow(100));
    await client.find({ type: "data", flags: endStream });
    expect(client.bodyOf(1)).toEqual(body);
  });

  it("and a trailer that a setting lets go is written by all of the same settings", async () => {
    const served = await serve((stream) => {
      stream.respond(200, ["x-a", "b"], false);
      stream.endWith(Buffer.alloc(10), 10, ["x-a", "b"]);
    });
    const client = await openBare(served, streamWindow(0), get());
    await client.find({ type: "headers" });
    client.send(settingsFrame([4, 100], [1, 0]));
    const trailer = await client.find({ type: "headers", flags: 5 });
    // The first block behind the acknowledgement tells the new size of the table. Source: RFC 7541, section 4.2
    expect(trailer.payload[0]).toBe(0x20);
  });
});

describe("answers that share a connection", () => {
  const body = countedBytes(200_000);
  const wide = streamWindow(1_000_000);

  it("take turns, however little the connection lets through at a time", async () => {
    const client = await openBare(await serveBody(body), wide, get(1), get(3), get(5));
    await client.until(() => client.frames.some(({ type }) => type === "data") || undefined);
    const streams = [1, 3, 5];
    const sent = () => streams.map((stream) => client.bodyOf(stream).length);
    const sum = () => sent().reduce((all, bytes) => all + bytes, 0);
    await client.until(() => sum() === 65_535 || undefined);
    const before = sent();
    for (let round = 1; round <= 12; round++) {
      client.send(windowFrame(10_000));
      await client.until(() => sum() === 65_535 + round * 10_000 || undefined);
    }
    const grown = sent().map((bytes, i) => bytes - (before[i] as number));
    expect(grown).toEqual([40_000, 40_000, 40_000]);
  });

  it("wait for none whose own window is used up", async () => {
    const client = await openBare(await serveBody(body), streamWindow(1_000), get(1), get(3), windowFrame(1_000_000));
    client.send(windowFrame(300_000, 3));
    await client.find({ type: "data", stream: 3, flags: endStream });
    expect(client.bodyOf(1)).toHaveLength(1_000);
  });

  it("wait for none that was taken back", async () => {
    const client = await openBare(await serveBody(body), wide, get(1), get(3));
    await expectSent(client, 1, 65_535);
    client.send(resetFrame(1), windowFrame(1_000_000));
    await client.find({ type: "data", stream: 3, flags: endStream });
    expect(client.bodyOf(3)).toEqual(body);
  });
});

describe("a window beyond 2^31 - 1 bytes", () => {
  const most = 2 ** 31 - 1;

  it.each<[where: string, frames: Buffer[]]>([
    ["of the connection", [windowFrame(most)]],
    ["of the connection, little by little", [windowFrame(most - 65_535), windowFrame(1)]],
    ["by a setting", [streamWindow(2 ** 31)]],
    ["by a setting and what was added before", [get(), windowFrame(1, 1), streamWindow(most)]],
  ])("ends the connection: %s", async (_where, frames) => {
    const client = await openBare(await serve(), ...frames);
    expect(await client.endCode()).toBe(ErrorCode.flowControlError);
  });

  it("of a stream resets the stream alone", async () => {
    const client = await openBare(await serve(echo), get(), postFrame(3), windowFrame(most, 3));
    expect(await client.resetOf(3)).toBe(ErrorCode.flowControlError);
    await client.find({ stream: 1, flags: endStream });
  });

  it.each([0, 1])("is not one of exactly so many: stream %i", async (stream) => {
    const client = await openBare(await serve(), postFrame(), windowFrame(most - 65_535, stream));
    await client.settle();
  });
});

describe("a window that grows by nothing", () => {
  it("ends the connection, if it is the connection's", async () => {
    const client = await openBare(await serve(), windowFrame(0));
    expect(await client.endCode()).toBe(ErrorCode.protocolError);
  });

  it("resets the stream, if it is a stream's", async () => {
    const client = await openBare(await serve(), postFrame(), windowFrame(0, 1));
    expect(await client.resetOf(1)).toBe(ErrorCode.protocolError);
    await client.settle();
  });
});

describe("a request's body", () => {
  const data = (stream: number, bytes: number, flags = 0) =>
    frame("data", { stream, flags, payload: Buffer.alloc(bytes) });

  it("may be 65,535 bytes while nobody reads it, and no more", async () => {
    const client = await openBare(await serve(), postFrame(), ...Array.from({ length: 5 }, () => data(1, 13_107)));
    await client.settle();
    expect(client.frames.some(({ type }) => type === "reset")).toBe(false);
    client.send(data(1, 1));
    expect(await client.resetOf(1)).toBe(ErrorCode.flowControlError);
  });

  it("counts its padding against the window, which the server gives back at once", async () => {
    const paddedFrame = frame("data", { flags: 8, stream: 1, payload: Buffer.alloc(256, Buffer.of(255)) });
    const all = Array.from({ length: 255 }, () => paddedFrame);
    const client = await openBare(await serve(), postFrame(), ...all);
    await client.find({ type: "windowUpdate", stream: 1 });
    client.send(...all);
    await client.settle();
    expect(client.frames.some(({ type }) => type === "reset")).toBe(false);
  });

  it("of others comes, though nobody reads one", async () => {
    const served = await serve((stream) => (stream.id === 1 ? undefined : echo(stream)));
    const session = await connectNode(served, { initialWindowSize: 1_000_000 });
    void ask(session, { ":method": "POST" }, Buffer.alloc(3_000_000)).catch(() => {});
    const body = countedBytes(3_000_000);
    expect((await ask(session, { ":method": "POST" }, body)).body.equals(body)).toBe(true);
  });

  it("is taken no faster than it is read", async () => {
    const served = await serve((stream) => void stream.incoming.stream);
    const session = await connectNode(served);
    const body = countedBytes(1_000_000);
    void ask(session, { ":method": "POST" }, body).catch(() => {});
    await until(async () => (served.streams[0]?.incoming.stream.readableLength ?? 0) >= 65_536, 5_000);
    await pause(50);
    const stream = served.streams[0] as Http2Stream;
    expect(stream.incoming.stream.readableLength).toBeLessThan(3 * 65_536);
    expect((await readAll(stream)).equals(body)).toBe(true);
  });

  it("of any size comes as it was sent, whole or in pieces", async () => {
    const served = await serve(async (stream) => {
      const body = await readAll(stream);
      stream.respond(200, [], false);
      stream.endWith(body, body.length);
    });
    const session = await connectNode(served);
    for (const bytes of [0, 1, 16_384, 16_385, 65_535, 65_536, 2_000_000]) {
      const body = countedBytes(bytes);
      expect((await ask(session, { ":method": "POST" }, body)).body.equals(body), `${bytes} bytes`).toBe(true);
    }
  });
});
