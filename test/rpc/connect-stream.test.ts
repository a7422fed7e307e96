import { brotliCompressSync, gzipSync } from "node:zlib";
import { create } from "@bufbuild/protobuf";
import { Code, ConnectError, type HandlerContext } from "@connectrpc/connect";
import { describe, expect, it } from "vitest";
import type { RpcRequest } from "../../src/rpc/rpc-protocol.ts";
import { send } from "../gateway/fixture.ts";
import { type ListShapesResponse, ListShapesResponseSchema } from "../gateway/gen/shapes/v1/shape_service_pb.ts";
import { envelope } from "../support/rpc-wire.ts";
import { createStreamHandler, type OpenStream } from "./stream-handler.ts";

/** Calls a server stream over Connect, with messages in JSON, and takes its answer's envelopes apart. */
async function call(implement: OpenStream, body: Uint8Array, header: Record<string, string> = {}) {
  const rpc = createStreamHandler(implement);
  const answer = await send((exchange) => rpc.answer(rpc.recognize(exchange) as RpcRequest), {
    method: "POST",
    target: "/shapes.v1.ShapeService/WatchShapes",
    header: { "content-type": "application/connect+json", ...header },
    body,
  });
  // Before each message stand its flags and a length of less than 256 bytes, after the last one nothing.
  const parts = answer.text.split("\0\0\0").slice(1);
  const texts = parts.map((part) => part.slice(part.search(/\{["}]/), part.lastIndexOf("}") + 1));
  const end = JSON.parse(texts.pop() ?? "");
  return { header: answer.header, messages: texts.map((text) => JSON.parse(text)), end };
}

async function* echoed(pageToken: string): AsyncGenerator<ListShapesResponse> {
  yield create(ListShapesResponseSchema, { nextPageToken: pageToken });
}

const echo = async (pageToken: string) => echoed(pageToken);

const request = '{"pageToken":"abc"}';

describe("the message of a request for a server stream over Connect", () => {
  it.each([
    ["gzip", envelope(gzipSync(request), { flags: 1 })],
    ["br", envelope(brotliCompressSync(request), { flags: 1 })],
    ["gzip", envelope(Buffer.from(request))],
    ["identity", envelope(Buffer.from(request))],
  ])("is read where the headers name %s", async (encoding, body) => {
    const { messages, end } = await call(echo, body, { "connect-content-encoding": encoding });
    expect([messages, end]).toEqual([[{ nextPageToken: "abc" }], {}]);
  });

  it.each([0, 1])("is refused where the headers name an unknown compression, with the flags %i", async (flags) => {
    const body = envelope(Buffer.from(request), { flags });
    const { header, end } = await call(echo, body, { "connect-content-encoding": "zstd" });
    expect(end.error.code).toBe("unimplemented");
    expect(header.get("connect-accept-encoding")).toBe("gzip, br");
  });
});

describe("a trailer with several values", () => {
  async function withTrailer(pageToken: string, { responseHeader, responseTrailer }: HandlerContext) {
    responseHeader.append("x-head", "e");
    responseTrailer.append("x-tail", "b");
    responseTrailer.append("x-one", "a");
    responseTrailer.append("x-tail", "c");
    if (pageToken === "cannot be opened") {
      throw new ConnectError("no", Code.Aborted, { "x-error": "d" });
    }
    return failing(pageToken);
  }

  async function* failing(pageToken: string) {
    yield* echoed(pageToken);
    if (pageToken === "fail after a message") {
      throw new ConnectError("no", Code.Aborted, { "x-error": "d" });
    }
  }

  const callWithToken = (pageToken: string) => call(withTrailer, envelope(Buffer.from(JSON.stringify({ pageToken }))));

  it("has all of them at the end of a stream", async () => {
    expect((await callWithToken("abc")).end).toEqual({ metadata: { "x-tail": ["b", "c"], "x-one": ["a"] } });
  });

  it.each(["cannot be opened", "fail after a message"])(
    "has all of them where streams %s, beside the headers and the metadata of the error",
    async (pageToken) => {
      const { header, end } = await callWithToken(pageToken);
      expect(end.error.code).toBe("aborted");
      expect(end.metadata).toEqual({
        "x-tail": ["b", "c"],
        "x-one": ["a"],
        "x-head": ["e"],
        "x-error": ["d"],
        "x-request-id": [expect.stringMatching(/\S/)],
      });
      expect(header.get("x-head")).toBe("e");
    },
  );
});
