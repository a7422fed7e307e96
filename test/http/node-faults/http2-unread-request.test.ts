import { once } from "node:events";
import { constants, createServer, type ServerHttp2Stream } from "node:http2";
import { setTimeout as pause, setImmediate } from "node:timers/promises";
import { expect, it } from "vitest";
import { endHeaders, frame, headerBlock, openingWith } from "../../security/http2-frames.ts";
import { expectFault, listenBare, nodeMajor, openBare } from "./bare-node.ts";

const file = "src/http/node-faults/http2-unread-request.ts";

const head = headerBlock({ ":method": "POST", ":scheme": "http", ":authority": "x", ":path": "/" });
/** A request that has not ended. */
const begun = frame("headers", { flags: endHeaders, stream: 1, payload: head });
const data = frame("data", { stream: 1, payload: Buffer.alloc(100) });

/** The types of the frames that have come, by their numbers. */
function typesIn(received: Buffer): number[] {
  return received.length < 9
    ? []
    : [received.readUInt8(3), ...typesIn(received.subarray(9 + received.readUIntBE(0, 3)))];
}

it.runIf(nodeMajor >= 26)("Node drops an answer that is reset before it is written", async () => {
  const server = createServer().on("stream", (stream: ServerHttp2Stream) => {
    stream.on("error", () => {});
    stream.respond({}, { endStream: true });
    stream.close(constants.NGHTTP2_NO_ERROR);
  });
  const client = await openBare(await listenBare(server));
  let received = Buffer.alloc(0);
  client.on("data", (bytes: Buffer) => {
    received = Buffer.concat([received, bytes]);
  });
  client.write(openingWith(begun));
  const [headers, reset] = [1, 3];
  await expect.poll(() => typesIn(received)).toContain(reset);
  expectFault(!typesIn(received).includes(headers), `the waiting in ${file}`);
});

it("Node never destroys a closed stream whose request has unread data", async () => {
  const server = createServer();
  const client = await openBare(await listenBare(server));
  client.write(openingWith(begun, data));
  const [stream] = (await once(server, "stream")) as [ServerHttp2Stream];
  await once(stream, "data");
  stream.pause();
  client.write(data);
  await expect.poll(() => stream.readableLength).toBe(100);
  stream.respond();
  stream.end();
  await once(stream, "finish");
  await pause(10);
  stream.close(constants.NGHTTP2_NO_ERROR);
  await pause(100);
  expectFault(!stream.destroyed, `the destroy in ${file}`);
});

it("Node writes a reset a turn later than the answer", async () => {
  const server = createServer();
  const client = await openBare(await listenBare(server));
  client.write(openingWith(begun));
  const [stream] = (await once(server, "stream")) as [ServerHttp2Stream];
  await setImmediate();
  const socket = stream.session?.socket;
  stream.respond({}, { endStream: true });
  stream.end();
  await once(stream, "finish");
  stream.close(constants.NGHTTP2_NO_ERROR);
  const atOnce = socket?.bytesWritten ?? 0;
  await pause(20);
  const resetBytes = 13;
  expectFault(socket?.bytesWritten === atOnce + resetBytes, `the second reset in ${file}`);
});
