import { describe, expect, it } from "vitest";
import { ErrorCode } from "../../../src/http/http2/frames.ts";
import { endHeaders, endStream, frame, requestFrame } from "../../security/http2-frames.ts";
import { openBare, postFrame } from "./bare-client.ts";
import { literal } from "./hpack-bytes.ts";
import { serve } from "./served.ts";

type Fields = readonly (readonly [name: string, value: string])[];

const get: Fields = [
  [":method", "GET"],
  [":scheme", "http"],
  [":path", "/"],
  [":authority", "x"],
];
const without = (name: string) => get.filter(([found]) => found !== name);
const changed = (name: string, value: string): Fields => [...without(name), [name, value]];

function headersFrame(fields: Fields, stream: number, flags = endHeaders | endStream): Buffer {
  return frame("headers", {
    flags,
    stream,
    payload: Buffer.concat(fields.map(([name, value]) => literal(name, value))),
  });
}

/** Sends a request on stream 1, and tells whether it was handled, and the code of its reset. The next one always is. */
async function send(...frames: readonly Buffer[]): Promise<{ isHandled: boolean; code: number | undefined }> {
  const served = await serve((stream) => stream.incoming.isEnded && stream.respond(204, [], true));
  const client = await openBare(served, ...frames, requestFrame({ ":path": "/next" }, 3));
  await client.find({ type: "headers", stream: 3, flags: endHeaders | endStream });
  const reset = client.frames.find(({ type, stream }) => type === "reset" && stream === 1);
  return { isHandled: served.streams.some(({ id }) => id === 1), code: reset?.payload.readUInt32BE() };
}

/** What `send` resolves to. */
const refused = { isHandled: false, code: ErrorCode.protocolError };
const spoilt = { isHandled: true, code: ErrorCode.protocolError };
const handled = { isHandled: true, code: undefined };

describe("a request resets its stream, and never reaches the service, if it is malformed", () => {
  it.each<[why: string, fields: Fields]>([
    ["with a name in upper case", [...get, ["X-Upper", "a"]]],
    ["with a name of none", [...get, ["", "a"]]],
    ["with a space in a name", [...get, ["x a", "a"]]],
    ["with a colon in a name", [...get, ["x:a", "a"]]],
    ["with a byte beyond ASCII in a name", [...get, ["x-\u00e9", "a"]]],
    ["with a line feed in a value", [...get, ["x-a", "a\nb"]]],
    ["with a carriage return in a value", [...get, ["x-a", "a\rb"]]],
    ["with a zero in a value", [...get, ["x-a", "a\u0000b"]]],
    ["with a space before its path", changed(":path", " /")],
    ["with an empty scheme", changed(":scheme", "")],
    ["with a scheme that is a path", changed(":scheme", "/v1/limits?")],
    ["with a scheme that is a URL", changed(":scheme", "http://x/v1/limits?")],
    ["with a space behind its host", [...get, ["host", "x "]]],
    ["with a space behind its length", [...get, ["content-length", "0 "]]],
    ["with a tab before a te of trailers", [...get, ["te", "\ttrailers"]]],
    ["with connection", [...get, ["connection", "close"]]],
    ["with keep-alive", [...get, ["keep-alive", "timeout=5"]]],
    ["with proxy-connection", [...get, ["proxy-connection", "close"]]],
    ["with transfer-encoding", [...get, ["transfer-encoding", "chunked"]]],
    ["with upgrade", [...get, ["upgrade", "h2c"]]],
    ["with a te of gzip", [...get, ["te", "gzip"]]],
    ["with a te of trailers and more", [...get, ["te", "trailers, gzip"]]],
    ["with a pseudo-header behind a header", [...without(":path"), ["x-a", "a"], [":path", "/"]]],
    ["with an unknown pseudo-header", [...get, [":protocol", "websocket"]]],
    ["with a pseudo-header of answers", [...get, [":status", "200"]]],
    ["without a method", without(":method")],
    ["without a scheme", without(":scheme")],
    ["without a path", without(":path")],
    ["with two methods", [...get, [":method", "GET"]]],
    ["with two schemes", [...get, [":scheme", "http"]]],
    ["with two paths", [...get, [":path", "/"]]],
    ["with two authorities", [...get, [":authority", "x"]]],
    ["with a host that is not its authority", [...get, ["host", "y"]]],
    ["with a host of another port", [...get, ["host", "x:8080"]]],
    ["with hosts of which one is not its authority", [...get, ["host", "x"], ["host", "y"]]],
    ["with an empty host beside its authority", [...get, ["host", ""]]],
    ["with an empty method", changed(":method", "")],
    ["with an empty path", changed(":path", "")],
    ["with a path that does not begin with a slash", changed(":path", "a")],
    ["with an asterisk as its path", changed(":path", "*")],
    ["with a line feed in its path", changed(":path", "/a\nb")],
    ["with a space in its path", changed(":path", "/a?b=c d")],
    ["with a tab in its path", changed(":path", "/a\tb")],
    ["with a space in its method", changed(":method", "G T")],
    ["as CONNECT with a scheme and a path", changed(":method", "CONNECT")],
    ["as CONNECT without an authority", [[":method", "CONNECT"]]],
    ["without any field", []],
    ["with a body that is due and does not come", [...get, ["content-length", "1"]]],
    ["with two lengths of its body", [...get, ["content-length", "1"], ["content-length", "0"]]],
    ["with a list of lengths", [...get, ["content-length", "0, 0"]]],
    ["with a negative length", [...get, ["content-length", "-0"]]],
    ["with an empty length", [...get, ["content-length", ""]]],
    ["with a length in hexadecimal", [...get, ["content-length", "0x0"]]],
  ])("%s", async (_why, fields) => expect(await send(headersFrame(fields, 1))).toEqual(refused));
});

describe("a request is handled", () => {
  it.each<[how: string, fields: Fields]>(
    [
      ["without an authority", without(":authority")],
      ["with a host that is its authority", [...get, ["host", "x"]]],
      ["with a host that is its authority in upper case", [...get, ["host", "X"]]],
      ["with a host that is its authority with the scheme's port", [...get, ["host", "x:80"]]],
      ["with a host instead of its authority", [...without(":authority"), ["host", "y"]]],
      [
        "as OPTIONS of the whole server",
        [...changed(":method", "OPTIONS").filter(([name]) => name !== ":path"), [":path", "*"]],
      ],
      [
        "as CONNECT of an authority",
        [
          [":method", "CONNECT"],
          [":authority", "x:1"],
        ],
      ],
      ["with a te of trailers", [...get, ["te", "trailers"]]],
      ["with the length of no body", [...get, ["content-length", "0"]]],
      ["with the same length twice", [...get, ["content-length", "0"], ["content-length", "0"]]],
      ["with bytes beyond ASCII in a value", [...get, ["x-a", "\u00e9"]]],
      ["with spaces within a value", [...get, ["x-a", "b \t c"]]],
      ["with an empty value", [...get, ["x-a", ""]]],
      ["with the names of JavaScript's objects", [...get, ["constructor", "a"], ["__proto__", "b"]]],
    ].map(([how, fields]) => [how, fields] as [string, Fields]),
  )("%s", async (_how, fields) => {
    expect(await send(headersFrame(fields, 1))).toEqual(handled);
  });

  it("with its fields in their order, and those of the head by themselves", async () => {
    const served = await serve();
    const fields: Fields = [...changed(":path", "/a?b"), ["x-a", "1"], ["x-a", "2"], ["content-length", "7"]];
    const client = await openBare(served, headersFrame(fields, 1, endHeaders));
    await client.settle();
    expect(served.streams[0]?.head).toEqual({
      method: "GET",
      target: "/a?b",
      authority: "x",
      contentLength: 7,
      fault: undefined,
      rawHeaders: fields.flat(),
    });
  });
});

describe("a body that disagrees with its length resets the stream", () => {
  const data = (bytes: number, flags = 0) => frame("data", { flags, stream: 1, payload: Buffer.alloc(bytes) });
  const trailer = headersFrame([["x-a", "b"]], 1);

  it.each<[why: string, length: number, frames: Buffer[]]>([
    ["as it is longer", 3, [data(4)]],
    ["as it becomes longer", 3, [data(3), data(1)]],
    ["as it is shorter", 3, [data(2, endStream)]],
    ["as it is empty", 3, [data(0, endStream)]],
    ["as a trailer ends it early", 3, [data(2), trailer]],
    ["though it should be empty", 0, [data(1, endStream)]],
  ])("%s", async (_why, length, frames) => {
    expect(await send(postFrame(1, { "content-length": `${length}` }), ...frames)).toEqual(spoilt);
  });

  it.each<[how: string, frames: Buffer[]]>([
    ["its last frame", [data(1), data(2, endStream)]],
    ["an empty frame", [data(3), data(0, endStream)]],
    ["a trailer", [data(3), trailer]],
  ])("but not one that agrees, and ends with %s", async (_how, frames) => {
    expect(await send(postFrame(1, { "content-length": "3" }), ...frames)).toEqual(handled);
  });
});

it.each([
  ["http", "/"],
  ["HTTPS", "/"],
  ["ftp", "ftp://x/"],
])("the target of a request with the scheme %s is %s", async (scheme, target) => {
  const served = await serve((stream) => stream.respond(204, [], true));
  const client = await openBare(served, headersFrame([[":scheme", scheme], ...without(":scheme")], 1));
  await client.find({ type: "headers", stream: 1 });
  expect(served.streams[0]?.head.target).toBe(target);
});
