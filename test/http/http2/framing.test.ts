import type { Socket } from "node:net";
import { setImmediate } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { ErrorCode } from "../../../src/http/http2/frames.ts";
import { endHeaders, endStream, frame, headerBlock, openingWith, preface } from "../../security/http2-frames.ts";
import {
  type BareClient,
  connectBare,
  openBare,
  padded,
  postFrame,
  priority,
  resetFrame,
  settingsFrame,
} from "./bare-client.ts";
import { ask, connectNode, echo, serve } from "./served.ts";

const head = { ":method": "POST", ":scheme": "http", ":path": "/", ":authority": "x" };
const block = headerBlock(head);
/** A priority behind stream 3. */
const weight = Buffer.of(0, 0, 0, 3, 16);
const data = (text: string, flags = endStream) => frame("data", { stream: 1, flags, payload: Buffer.from(text) });
const trailer = frame("headers", {
  stream: 1,
  flags: endHeaders | endStream,
  payload: headerBlock({ "x-trailer": "a" }),
});

it("the settings tell how many streams, and how large a list of headers the server takes", async () => {
  const client = await openBare(await serve());
  const { payload } = await client.find({ type: "settings", flags: 0 });
  expect([...payload]).toEqual([...settingsFrame([3, 128], [6, 64 * 1024]).subarray(9)]);
});

describe("a request is answered", () => {
  /** Sends a request to a server that echoes, and resolves to the answer's body. */
  async function echoed(...frames: Buffer[]): Promise<string> {
    const client = await openBare(await serve(echo), ...frames);
    await client.find({ stream: 1, flags: endStream });
    return client.bodyOf(1).toString();
  }
  const headers = (flags: number, payload: Buffer) =>
    frame("headers", { stream: 1, flags: flags | endHeaders, payload });
  const withPadding = (bytes: number, ...content: Buffer[]) =>
    Buffer.concat([Buffer.of(bytes), ...content, Buffer.alloc(bytes)]);
  const paddedData = (bytes: number, text: string) =>
    frame("data", { stream: 1, flags: padded | endStream, payload: withPadding(bytes, Buffer.from(text)) });

  it.each<[how: string, frames: Buffer[]]>([
    ["with padding on its head", [headers(padded, withPadding(20, block)), data("body")]],
    ["with a padding of no bytes", [headers(padded, withPadding(0, block)), data("body")]],
    ["with a priority", [headers(priority, Buffer.concat([weight, block])), data("body")]],
    ["with both", [headers(padded | priority, withPadding(255, weight, block)), data("body")]],
    ["with padding on its body", [postFrame(), paddedData(255, "body")]],
    [
      "with padding alone in a frame",
      [postFrame(), frame("data", { stream: 1, flags: padded, payload: Buffer.of(2, 0, 0) }), data("body")],
    ],
    ["with a trailer", [postFrame(), data("body", 0), trailer]],
    ["with empty frames", [postFrame(), data("bo", 0), data("", 0), data("dy", 0), data("")]],
    ["among frames that say nothing", [frame("unknown"), postFrame(), frame("unknown", { stream: 1 }), data("body")]],
    [
      "with flags that mean nothing",
      [frame("headers", { stream: 1, flags: endHeaders | 0xd2, payload: block }), data("body", 0xf7)],
    ],
    ["with the reserved bit", [setReservedBit(postFrame()), setReservedBit(data("body"))]],
    ["with unknown settings", [settingsFrame([0x99, 1]), postFrame(), data("body")]],
  ])("%s", async (_how, frames) => expect(await echoed(...frames)).toBe("body"));

  it.each([1, 2, 8])("whose head goes on in %i further frames", async (count) => {
    const size = Math.ceil(block.length / (count + 1));
    const parts = Array.from({ length: count + 1 }, (_, i) => block.subarray(i * size, (i + 1) * size));
    const frames = parts.map((payload, i) =>
      frame(i === 0 ? "headers" : "continuation", { stream: 1, flags: i === count ? endHeaders : 0, payload }),
    );
    expect(await echoed(...frames, data("body"))).toBe("body");
  });

  it("wherever the bytes of the connection are split", async () => {
    const bytes = openingWith(
      postFrame(),
      data("bo", 0),
      frame("data", { stream: 1, flags: padded, payload: Buffer.of(1, 0x64, 0) }),
      data("y", 0),
      trailer,
    );
    const served = await serve(echo);
    for (let at = 1; at < bytes.length; at++) {
      const client = await connectBare(served);
      // The system might join what a client sends in pieces.
      await client.find({ type: "settings", flags: 0 });
      const socket = served.sockets.at(-1) as Socket;
      socket.emit("data", bytes.subarray(0, at));
      await setImmediate();
      socket.emit("data", bytes.subarray(at));
      await client.find({ stream: 1, flags: endStream });
      expect(client.bodyOf(1).toString(), `split behind ${at} bytes`).toBe("body");
      client.socket.destroy();
    }
  });

  it("though its bytes come one by one", async () => {
    const served = await serve(echo);
    const client = await connectBare(served);
    await client.find({ type: "settings", flags: 0 });
    for (const byte of openingWith(postFrame(), data("body", 0), trailer)) {
      served.sockets[0]?.emit("data", Buffer.of(byte));
    }
    await client.find({ stream: 1, flags: endStream });
    expect(client.bodyOf(1).toString()).toBe("body");
  });
});

describe("a connection is ended", () => {
  const continued = (flags = 0, stream = 1) => frame("continuation", { stream, flags, payload: Buffer.alloc(0) });
  const unended = frame("headers", { stream: 1, payload: block });
  const { protocolError, flowControlError, frameSizeError, compressionError, enhanceYourCalm } = ErrorCode;
  const bytes = (length: number) => ({ payload: Buffer.alloc(length) });

  it.each<[why: string, code: ErrorCode, frames: Buffer[]]>([
    ["for DATA of no stream", protocolError, [frame("data")]],
    ["for HEADERS of no stream", protocolError, [frame("headers", { flags: endHeaders, payload: block })]],
    [
      "for HEADERS of a server's stream",
      protocolError,
      [frame("headers", { stream: 2, flags: endHeaders, payload: block })],
    ],
    ["for RST_STREAM of no stream", protocolError, [resetFrame(0)]],
    ["for SETTINGS of a stream", protocolError, [frame("settings", { stream: 1 })]],
    ["for PING of a stream", protocolError, [frame("ping", { stream: 1, ...bytes(8) })]],
    ["for GOAWAY of a stream", protocolError, [frame("goAway", { stream: 1, ...bytes(8) })]],
    ["for PRIORITY of no stream", protocolError, [frame("priority", { payload: weight })]],
    ["for PUSH_PROMISE", protocolError, [frame("push", { stream: 1, ...bytes(4) })]],
    ["for CONTINUATION of nothing", protocolError, [continued()]],
    ["for CONTINUATION behind whole headers", protocolError, [postFrame(), continued()]],
    ["for CONTINUATION of another stream", protocolError, [unended, continued(0, 3)]],
    ["for DATA within headers", protocolError, [unended, data("")]],
    ["for PING within headers", protocolError, [unended, frame("ping", bytes(8))]],
    ["for an unknown frame within headers", protocolError, [unended, frame("unknown")]],
    ["for headers in nine further frames", enhanceYourCalm, [unended, ...Array.from({ length: 9 }, () => continued())]],
    ["for a frame above 16,384 bytes", frameSizeError, [frame("unknown", bytes(16_385))]],
    ["for SETTINGS of 5 bytes", frameSizeError, [frame("settings", bytes(5))]],
    ["for SETTINGS that acknowledge something", frameSizeError, [frame("settings", { flags: 1, ...bytes(6) })]],
    ["for PING of 7 bytes", frameSizeError, [frame("ping", bytes(7))]],
    ["for GOAWAY of 7 bytes", frameSizeError, [frame("goAway", bytes(7))]],
    ["for RST_STREAM of 5 bytes", frameSizeError, [postFrame(), frame("reset", { stream: 1, ...bytes(5) })]],
    ["for WINDOW_UPDATE of 3 bytes", frameSizeError, [frame("windowUpdate", bytes(3))]],
    [
      "for a padding as long as its DATA",
      protocolError,
      [postFrame(), frame("data", { stream: 1, flags: padded, payload: Buffer.of(1) })],
    ],
    [
      "for a padding longer than its HEADERS",
      protocolError,
      [frame("headers", { stream: 1, flags: padded | endHeaders, payload: Buffer.of(9, 0x82) })],
    ],
    [
      "for headers that cannot be decoded",
      compressionError,
      [frame("headers", { stream: 1, flags: endHeaders, payload: Buffer.of(0x80) })],
    ],
    ["for a push setting of 2", protocolError, [settingsFrame([2, 2])]],
    ["for a frame size of 16,383", protocolError, [settingsFrame([5, 16_383])]],
    ["for a frame size of 2^24", protocolError, [settingsFrame([5, 2 ** 24])]],
    ["for SETTINGS acknowledged again and again", enhanceYourCalm, Array(11_000).fill(frame("settings", { flags: 1 }))],
    ["for a window of 2^31 before another", flowControlError, [settingsFrame([4, 2 ** 31], [4, 65_535])]],
  ])("%s", async (_why, code, frames) => {
    const client = await openBare(await serve(), ...frames);
    expect(await client.endCode()).toBe(code);
  });

  it.each<[why: string, bytes: Buffer]>([
    ["a wrong preface", Buffer.concat([Buffer.from("PRI * HTTP/2.1"), Buffer.alloc(50)])],
    ["no settings behind its preface", Buffer.concat([preface, frame("ping", bytes(8))])],
    ["an acknowledgement as its first settings", Buffer.concat([preface, frame("settings", { flags: 1 })])],
  ])("for %s", async (_why, opening) => {
    const client = await connectBare(await serve());
    client.send(opening);
    expect(await client.endCode()).toBe(protocolError);
  });

  it.each<[reason: string, ...frames: Buffer[]]>([
    ["a frame has a wrong length", frame("windowUpdate", bytes(3))],
    ["a client's stream identifier must be odd", frame("headers", { stream: 2, flags: endHeaders, payload: block })],
    ["HEADERS on a stream that is closed or was skipped", postFrame(3), postFrame(1)],
    ["SETTINGS, PING and GOAWAY must be on stream 0", frame("settings", { stream: 1 })],
    ["PRIORITY must be on a stream other than 0", frame("priority", { payload: weight })],
    ["invalid value of ENABLE_PUSH or MAX_FRAME_SIZE", settingsFrame([2, 2])],
    ["PADDED frame without a pad length", frame("headers", { stream: 1, flags: padded | endHeaders })],
    ["expected CONTINUATION after HEADERS", unended, frame("ping", bytes(8))],
    ["CONTINUATION without HEADERS to continue", continued()],
  ])("and its reason is told: %s", async (reason, ...frames) => {
    const client = await openBare(await serve(), ...frames);
    expect(await reasonOf(client)).toBe(reason);
  });

  it("and its reason is told: expected SETTINGS first", async () => {
    const client = await connectBare(await serve());
    client.send(preface, frame("ping", bytes(8)));
    expect(await reasonOf(client)).toBe("expected SETTINGS first");
  });
});

it("a body in many small frames resets its stream, and leaves the connection", async () => {
  const served = await serve();
  const client = await openBare(served, postFrame(), ...Array.from({ length: 1_026 }, () => data("x", 0)));
  await client.settle();
  expect(served.openCount()).toBe(1);
  client.send(data("x", 0));
  expect(await client.resetOf(1)).toBe(ErrorCode.enhanceYourCalm);
  expect(served.openCount()).toBe(0);
  await client.settle();
});

it("trailers reach Node's client, with and without a body", async () => {
  const served = await serve((stream) => {
    stream.respond(200, [], false);
    const body = stream.id === 1 ? "" : "body";
    stream.endWith(body, body.length, ["x-a", "1", "x-a", "2"]);
  });
  const session = await connectNode(served);
  for (const body of ["", "body"]) {
    expect(await ask(session)).toMatchObject({ body: Buffer.from(body), trailer: ["x-a", "1", "x-a", "2"] });
  }
});

/** The text in the server's GOAWAY. */
async function reasonOf(client: BareClient): Promise<string> {
  return (await client.find({ type: "goAway" })).payload.subarray(8).toString();
}

function setReservedBit(bytes: Buffer): Buffer {
  bytes[5] = 0x80;
  return bytes;
}
