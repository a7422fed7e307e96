import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";
import { beforeEach, describe, expect, it, onTestFinished } from "vitest";
import { Http2Connection } from "../../../src/http/http2/connection.ts";
import type { Http2Stream } from "../../../src/http/http2/stream.ts";
import { frame, openingWith, requestFrame } from "../../security/http2-frames.ts";
import { until } from "../../support/deadline.ts";

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
    new Http2Connection(socket, handlers, 1_000);
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => void server.close());
});

/** Opens a connection that begins with these frames. */
async function open(...frames: readonly Buffer[]): Promise<Socket> {
  const client = connect((server.address() as AddressInfo).port, "127.0.0.1").on("error", () => {});
  onTestFinished(() => void client.destroy());
  client.write(openingWith(...frames));
  await once(client, "data");
  return client;
}

/** Resolves when the server has read all that the client has sent. */
async function areRead(client: Socket): Promise<void> {
  const token = `${Math.random()}`.slice(2, 10).padEnd(8, "0");
  let received = "";
  const collect = (bytes: Buffer) => {
    received += bytes.toString("latin1");
  };
  client.on("data", collect);
  client.write(frame("ping", { payload: Buffer.from(token) }));
  await until(async () => received.includes(token), 2_000);
  client.off("data", collect);
}

describe("a client that says again and again that it leaves", () => {
  it("has one timer and one listener for that", async () => {
    const client = await open(requestFrame({ ":path": "/" }));
    const before = served.listenerCount("close");
    client.write(Buffer.concat(Array.from({ length: 100 }, () => frame("goAway", { payload: Buffer.alloc(8) }))));
    await areRead(client);
    expect(served.listenerCount("close") - before).toBe(1);
  });
});
