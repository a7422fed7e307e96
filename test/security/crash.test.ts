import { once } from "node:events";
import { type ClientHttp2Session, connect } from "node:http2";
import type { Socket } from "node:net";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { openSocket } from "../support/raw.ts";
import { startServer, type TestServer } from "../support/server.ts";
import { expectUnharmed } from "../support/unharmed.ts";
import { endHeaders, frame, headerBlock, openingWith, preface } from "./http2-frames.ts";

const check = "/grpc.health.v1.Health/Check";
const watch = "/grpc.health.v1.Health/Watch";
const reflection = "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo";

let server: TestServer;
let key: string;
let session: ClientHttp2Session;

beforeAll(async () => {
  server = await startServer();
  ({ key } = await server.store.mintQuota(1_000_000, 1_000_000));
  session = connect(server.origin);
});

afterAll(async () => {
  session?.destroy();
  await server?.stop();
});

/** A request over HTTP/1.1 that announces more of a body than it has. */
function half(method: string, path: string, { type = "application/json", lines = "", host = "x" } = {}): string {
  return `${method} ${path} HTTP/1.1\r\nHost: ${host}\r\nContent-Type: ${type}\r\n${lines}Content-Length: 10\r\n\r\n{`;
}

/** A request over HTTP/2 whose headers and what is done to it arrive in one segment. */
function reset(headers: Record<string, string>, code = 8): Buffer {
  const block = headerBlock({ ":method": "POST", ":scheme": "http", ":authority": "x", ...headers });
  const opened = frame("headers", { flags: endHeaders, stream: 1, payload: block });
  return openingWith(opened, frame("reset", { stream: 1, payload: Buffer.of(0, 0, 0, code) }));
}

describe("a client that goes away at the wrong moment", () => {
  afterEach(() => expectUnharmed(server, key));

  const json = { "content-type": "application/json" };
  const grpc = { "content-type": "application/grpc", te: "trailers" };
  const expecting = { expect: "100-continue" };
  const first = "GET /v1/pets/1 HTTP/1.1\r\nHost: x\r\n\r\n";
  const whole = `POST ${check} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}`;
  const close = { lines: "Connection: close\r\n" };

  it.each<[title: string, bytes: string | Buffer]>([
    ["CONNECT", "CONNECT x:1 HTTP/1.1\r\nHost: x\r\n\r\n"],
    ["CONNECT and a tunnel's bytes", `CONNECT x:1 HTTP/1.1\r\nHost: x\r\n\r\n${"A".repeat(100_000)}`],
    ["CONNECT after other requests", `${first.repeat(3)}CONNECT x:1 HTTP/1.1\r\nHost: x\r\n\r\n`],
    ["an upgrade", "GET /v1/pets/1 HTTP/1.1\r\nHost: x\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n"],
    ["what is no HTTP", "GARBAGE\r\n\r\n"],
    ["what is no HTTP after other requests", `${first.repeat(3)}BAD\r\n\r\n`],
    ["an expectation that is none", "PATCH /v1/inventory/7 HTTP/1.1\r\nHost: x\r\nExpect: foo\r\n\r\n"],
    ["half a body for health", half("POST", check)],
    ["half a body for health, the connection to be closed", half("POST", check, close)],
    ["half a body for health, after another request", first + half("POST", check)],
    ["half a body for health over gRPC, after another", first + half("POST", check, { type: "application/grpc" })],
    ["half a body for health, after one that is whole", whole + half("POST", check)],
    [
      "half a body for a stream, after another request",
      first + half("POST", watch, { type: "application/connect+json" }),
    ],
    ["half a body by a method that health does not have", first + half("PUT", watch)],
    ["half a body for reflection, after another request", first + half("POST", reflection)],
    ["half a body of a stranger", first + half("PATCH", "/v1/inventory/7")],
    ["half a body for health without a host", half("POST", check, { host: "" })],
    ["half a preface", preface.subarray(0, 8)],
    ["a preface and no frames", Buffer.concat([preface, Buffer.alloc(200, 0xff)])],
    ["health that waits for 100 Continue, reset", reset({ ":path": check, ...json, ...expecting })],
    ["health over gRPC that waits for 100 Continue, reset", reset({ ":path": check, ...grpc, ...expecting })],
    ["a stream that waits for 100 Continue, reset", reset({ ":path": watch, ...grpc, ...expecting })],
    ["health, reset", reset({ ":path": check, ...json })],
    ["reflection, reset", reset({ ":path": reflection, ...grpc })],
    ["a request that waits for 100 Continue, reset", reset({ ":path": "/v1/pets/1", ...expecting })],
    ["a request, reset", reset({ ":path": "/v1/pets/1" }, 0)],
  ])("ends nothing with %s", async (_title, bytes) => {
    for (const leave of [leaveByReset, leaveByClose]) {
      for (const wait of [untilWritten, untilWritten, untilAnswered]) {
        const socket = openSocket(server);
        await wait(socket, bytes);
        await leave(socket);
      }
    }
  });

  async function untilWritten(socket: Socket, bytes: string | Buffer): Promise<void> {
    await new Promise((resolve) => socket.on("error", resolve).write(bytes, resolve));
  }
  /** Or, where nothing is said, until others have been answered. */
  async function untilAnswered(socket: Socket, bytes: string | Buffer): Promise<void> {
    await untilWritten(socket, bytes);
    await Promise.race([once(socket, "readable"), once(socket, "close"), expectUnharmed(server, key)]).catch(() => {});
  }
  async function leaveByReset(socket: Socket): Promise<void> {
    await closed(socket.resetAndDestroy());
  }
  async function leaveByClose(socket: Socket): Promise<void> {
    await closed(socket.destroy());
  }
  async function closed(socket: Socket): Promise<void> {
    if (!socket.closed) {
      await once(socket, "close");
    }
  }
});

describe("a host that a URL cannot have", () => {
  afterEach(() => expectUnharmed(server, key));

  const hosts = ["a%25b", "%00", "%20", "%ff", "%5b", "[v1.a]", "1.2.3.999", "4294967296", "1..1", "x.1", "%2e", "a:"];

  it.each(hosts)("is as good as any for health and reflection: %s", async (host) => {
    for (const [path, type, body] of [
      [check, "application/json", "{}"],
      [watch, "application/connect+json", "\0\0\0\0\x02{}"],
      [reflection, "application/grpc", "\0\0\0\0\0"],
    ] as const) {
      // A stream to both sides is not to be had over HTTP/1.1.
      expect(await http1Status(path, { host, type, body }), path).toBe(path === reflection ? 505 : 200);
      expect(await http2Status(path, { host, type, body }), path).toBe(200);
    }
  });

  interface Parts {
    readonly host: string;
    readonly type: string;
    readonly body: string;
  }

  async function http1Status(path: string, { host, type, body }: Parts): Promise<number> {
    const socket = openSocket(server);
    const head = `Host: ${host}\r\nContent-Type: ${type}\r\nContent-Length: ${body.length}\r\n\r\n`;
    socket.write(`POST ${path} HTTP/1.1\r\n${head}${body}`);
    const [first] = await once(socket, "data");
    socket.destroy();
    return Number(String(first).split(" ")[1]);
  }

  async function http2Status(path: string, { host, type, body }: Parts): Promise<number> {
    const headers = { ":method": "POST", ":path": path, ":authority": host, "content-type": type, te: "trailers" };
    const stream = session.request(headers);
    stream.end(body);
    const [{ ":status": status }] = await once(stream, "response");
    stream.close();
    return status;
  }
});

it("after all of them the process that was started is the one that ends, and waits for none who has gone", async () => {
  session.destroy();
  const start = performance.now();
  expect(await server.end()).toBe(0);
  expect(performance.now() - start).toBeLessThan(5_000);
});
