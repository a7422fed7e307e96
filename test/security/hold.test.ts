import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { type ClientHttp2Session, type ClientHttp2Stream, connect as connectHttp2 } from "node:http2";
import { connect } from "node:net";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { until } from "../support/deadline.ts";
import { pets, toCsv } from "../support/fixture.ts";
import { rpcPath } from "../support/operations.ts";
import { envelope } from "../support/rpc-wire.ts";
import { serve, type TestServer, TestStore } from "../support/server.ts";
import { frame, openingWith, preface } from "./http2-frames.ts";

/** So many that a list is larger than what any system takes off a server's hands. */
const count = 70_000;

let server: TestServer;
let key: string;

beforeAll(async () => {
  const store = new TestStore();
  const file = join(store.directory, "many.csv");
  writeFileSync(file, toCsv(Array.from({ length: count }, (_, index) => ({ ...pets[1], id: BigInt(index) }))));
  await store.run("import", file);
  ({ key } = await store.mintQuota(1_000_000, 1_000_000));
  server = await serve(store, { flags: ["--request-timeout", "1s"] });
});

afterAll(() => server?.stop());

describe("a connection on which large lists are not read", () => {
  /** The lists of one session: more than Node keeps for a session before it refuses further streams, 10 MB. */
  const lists = 16;

  interface Request {
    readonly method: string;
    readonly path: string;
    readonly type: string;
    readonly body?: Uint8Array;
  }

  it.each<[title: string, list: Request, other: Request]>([
    [
      "REST",
      { method: "GET", path: "/v1/inventory", type: "application/json" },
      { method: "GET", path: "/v1/pets/7", type: "application/json" },
    ],
    [
      "Connect",
      { method: "POST", path: rpcPath("listInventory"), type: "application/json", body: Buffer.from("{}") },
      { method: "POST", path: rpcPath("getPet"), type: "application/json", body: Buffer.from('{"petId":7}') },
    ],
    [
      "gRPC",
      { method: "POST", path: rpcPath("listInventory"), type: "application/grpc", body: envelope(Buffer.alloc(0)) },
      { method: "POST", path: rpcPath("getPet"), type: "application/grpc", body: envelope(Buffer.of(8, 7)) },
    ],
  ])("answers other requests, and ends the lists when they are read: %s", async (_title, list, other) => {
    const session = connectHttp2(server.origin);
    await once(session, "connect");
    // The connection's window is not to be what holds the others back.
    session.setLocalWindowSize(64 * 1_048_576);
    const unread = Array.from({ length: lists }, () => send(session, list).pause());
    await Promise.all(unread.map((stream) => once(stream, "response")));
    for (let round = 0; round < 10; round++) {
      expect(await readAll(send(session, other))).toBeGreaterThan(0);
    }
    const sizes = await Promise.all(unread.map(readAll));
    session.destroy();
    expect(Math.min(...sizes)).toBe(Math.max(...sizes));
    expect(Math.min(...sizes)).toBeGreaterThan(count);
  });

  function send(session: ClientHttp2Session, { method, path, type, body }: Request): ClientHttp2Stream {
    const headers = { authorization: `Bearer ${key}`, "content-type": type, te: "trailers" };
    const stream = session.request({ ":method": method, ":path": path, ...headers }, { endStream: body === undefined });
    if (body !== undefined) {
      stream.end(body);
    }
    return stream;
  }

  /** The size of an answer that comes to its good end. */
  async function readAll(stream: ClientHttp2Stream): Promise<number> {
    let size = 0;
    stream.on("data", (chunk: Buffer) => {
      size += chunk.length;
    });
    stream.resume();
    await once(stream, "close");
    expect(stream.rstCode).toBe(0);
    return size;
  }
});

describe.concurrent("a client that does not close its side", () => {
  it.each<[title: string, bytes: string | Buffer]>([
    ["CONNECT", "CONNECT x:1 HTTP/1.1\r\nHost: x\r\n\r\n"],
    ["what is no HTTP", "GARBAGE\r\n\r\n"],
    ["headers that are too large", `GET / HTTP/1.1\r\nX: ${"a".repeat(20_000)}\r\n\r\n`],
    ["half a request", "GET /v1/pets/7 HTTP/1.1\r\nHost: x\r\n"],
    ["the head of a stranger's request", "PATCH /v1/inventory/7 HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n"],
    ["half a preface", preface.subarray(0, 3)],
    ["a frame that is none", openingWith(frame("headers", { payload: Buffer.from("?") }))],
  ])("is closed for, soon after its answer or its time: %s", async (_title, bytes) => {
    const { hostname, port } = new URL(server.origin);
    const socket = connect({ host: hostname, port: Number(port), allowHalfOpen: true });
    socket.on("error", () => {}).resume();
    socket.write(bytes);
    await once(socket, "end");
    // The server waits 2 s. A connection that it has let go of whole answers what is written to it with a reset.
    await until(async () => !socket.write("x") || socket.destroyed, 8_000);
    socket.destroy();
  });
});
