import { once } from "node:events";
import { connect as connectHttp2 } from "node:http2";
import type { Socket } from "node:net";
import { gzipSync } from "node:zlib";
import { Code } from "@connectrpc/connect";
import { afterAll, afterEach, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import type { Outcome } from "../support/clients/client.ts";
import { expectErrorBody, expectLimits } from "../support/expectations.ts";
import { createHttp2Client, type HttpClient } from "../support/http.ts";
import { type Operation, rpcPath } from "../support/operations.ts";
import { beginPeak, cpuMs, memoryBytes } from "../support/process-usage.ts";
import { openSocket, readAnswer } from "../support/raw.ts";
import { envelope, readGrpcOutcome } from "../support/rpc-wire.ts";
import { startServer, type TestServer } from "../support/server.ts";
import { expectUnharmed } from "../support/unharmed.ts";

const mebibyte = 1_048_576;

let server: TestServer;
let key: string;
let http2: HttpClient;

beforeAll(async () => {
  server = await startServer();
  ({ key } = await server.store.mintQuota(1_000_000, 1_000_000));
  http2 = createHttp2Client(server);
});

afterEach(() => expectUnharmed(server, key));

afterAll(async () => {
  http2?.close();
  await server?.stop();
});

/**
 * The time of the processor that a call costs the server, in milliseconds, the least of three: what it has not been
 * asked before it may have to compile.
 */
async function serverMs(call: () => Promise<unknown>): Promise<number> {
  const times: number[] = [];
  for (let round = 0; round < 3; round++) {
    const before = cpuMs(server.pid);
    await call();
    times.push(cpuMs(server.pid) - before);
  }
  return Math.min(...times);
}

describe("a small message that unfolds to 4 MiB", () => {
  const size = 4 * mebibyte - 16;
  const packed = (value: number) => Buffer.concat([Buffer.of(0x1a, ...varint(size)), Buffer.alloc(size, value)]);
  const filled = (unit: string | Uint8Array) => Buffer.alloc(size, unit);
  const json = (start: string, unit: string, end: string) =>
    Buffer.from(`${start}${unit.repeat((size - start.length - end.length) / unit.length)}${end}`);

  const group = (unit: Uint8Array) => Buffer.concat([Buffer.of(0x7b), Buffer.alloc(size - 2, unit), Buffer.of(0x7c)]);
  const longText = "a".repeat(1_900);
  const longChange = { petId: "1", delta: "1", reason: longText, reference: longText };
  const longChanges = JSON.stringify({ changes: Array(1_000).fill(longChange) });

  /** Calls an RPC over gRPC, with JSON or protobuf. */
  const call = async (rpc: Operation, message: Uint8Array): Promise<Outcome> => {
    const codec = message[0] === 0x7b && message.at(-1) === 0x7d ? "+json" : "";
    const headers = {
      authorization: `Bearer ${key}`,
      "content-type": `application/grpc${codec}`,
      "grpc-encoding": "gzip",
      te: "trailers",
    };
    const body = envelope(gzipSync(message), { flags: 1 });
    return readGrpcOutcome(await http2.send({ method: "POST", path: rpcPath(rpc), headers, body }));
  };

  it.each<[title: string, rpc: Operation, message: () => Buffer]>([
    ["statuses", "listInventory", () => packed(1)],
    ["statuses that are not offered", "listInventory", () => packed(0)],
    ["statuses that do not exist", "listInventory", () => packed(9)],
    ["unknown numbers", "listInventory", () => filled(Buffer.of(0x78, 1))],
    ["unknown texts", "getLimits", () => filled(Buffer.of(0x7a, 0))],
    ["groups in groups", "listInventory", () => filled(Buffer.of(0x7b))],
    ["numbers in a group", "listInventory", () => group(Buffer.of(0x78, 1))],
    ["groups in a group", "listInventory", () => group(Buffer.of(0x73, 0x74))],
    ["changes", "batchUpdateInventory", () => filled(Buffer.of(0x0a, 0))],
    ["changes in JSON", "batchUpdateInventory", () => json('{"changes":[{}', ",{}", "]}")],
    ["unknown decimals", "updateInventory", () => json('{"x":[0.1', ",0.1", "]}")],
    ["unknown arrays and a decimal", "getLimits", () => json('{"x":[[]', ",[]", ",1.0]}")],
    ["unknown members", "getLimits", () => json('{"x":{"":1', ',"":1', "}}")],
    ["one reason", "updateInventory", () => json('{"petId":"1","update":{"quantity":"1","reason":"', "a", '"}}')],
    ["one reference", "createHold", () => json('{"petId":"1","quantity":"1","reference":"', "a", '"}')],
    ["one entity tag", "batchUpdateInventory", () => json('{"changes":[{"etag":"\\"', "a", '\\""}]}')],
    ["1,000 changes with long texts", "batchUpdateInventory", () => Buffer.from(longChanges)],
    ["one integer with a fraction of zeros", "updateInventory", () => json('{"petId":1.', "0", "}")],
  ])("of %s is refused soon, with little memory: %s", async (_title, rpc, message) => {
    const bytes = message();
    const formerBytes = beginPeak(server.pid);
    const ms = await serverMs(async () => {
      const { failure, headers } = await call(rpc, bytes);
      expect(failure).toMatchObject({ code: "INVALID_REQUEST", canonical: "invalid_argument" });
      expectLimits(headers);
      expect(failure?.message.length ?? 0).toBeLessThan(2_000);
    });
    expect(ms).toBeLessThan(400);
    expect(memoryBytes(server.pid, "VmHWM") - formerBytes).toBeLessThan(150 * mebibyte);
  });

  it.each<[title: string, message: () => Buffer]>([
    ["one text", () => json('{"x":"', "a", '"}')],
    ["one text in escapes", () => json('{"x":"', "\\u0041", '"}')],
    ["one number", () => json('{"x":', "1", "}")],
    ["blanks", () => json("{", " ", "}")],
  ])("of %s is read soon", async (_title, message) => {
    const bytes = message();
    const ms = await serverMs(async () => {
      expect((await call("getLimits", bytes)).failure).toBeUndefined();
    });
    expect(ms).toBeLessThan(400);
  });
});

function varint(value: number): number[] {
  return value < 0x80 ? [value] : [(value & 0x7f) | 0x80, ...varint(value >>> 7)];
}

describe("a header that is long", () => {
  const parameters = (length: number) => `application/json;${"a".repeat(length)}`;
  const blanks = (length: number) => `application/json;x=1 y${" ".repeat(length)}y`;
  const quotes = (length: number) => `application/json;${'a="'.repeat(length / 3)}`;

  it.each<[shape: string, contentType: (length: number) => string]>([
    ["one parameter", parameters],
    ["blanks", blanks],
    ["quotation marks", quotes],
  ])("is refused within 200 ms as a content type: %s", async (_shape, contentType) => {
    for (const [length, code] of [
      [300, "MEDIA_TYPE_UNSUPPORTED"],
      [15_000, "MEDIA_TYPE_UNSUPPORTED"],
      [20_000, "HEADERS_TOO_LARGE"],
      [60_000, "HEADERS_TOO_LARGE"],
    ] as const) {
      const ms = await serverMs(async () => {
        const headers = { authorization: `Bearer ${key}`, "content-type": contentType(length) };
        const request = { method: "PATCH", path: "/v1/inventory/7", headers, body: '{"quantity":3}' };
        const answer = await http2.send(request);
        expectErrorBody(answer, code);
        expectLimits(answer.headers);
      });
      expect(ms, `${length} characters`).toBeLessThan(200);
    }
  });

  const path = rpcPath("listInventory");
  const spaces = " ".repeat(15_000);
  const gzip = gzipSync("{}");

  it.each<[name: string, headers: Record<string, string>]>([
    ["authorization", { authorization: `Bearer ${spaces}x` }],
    ["accept-encoding", { "accept-encoding": `a${spaces}b,`, "content-encoding": "gzip" }],
    ["accept-encoding, commas", { "accept-encoding": ",".repeat(15_000), "content-encoding": "gzip" }],
    ["content-type", { "content-type": `application/json${spaces}x` }],
    ["content-type, gRPC", { "content-type": `application/grpc${spaces}x` }],
    ["content-type, gRPC-Web", { "content-type": `application/grpc-web+json${spaces}x` }],
    ["content-type, charset", { "content-type": `application/json;${spaces}charset=utf-8${spaces.slice(8_000)}x` }],
    ["grpc-timeout", { "content-type": "application/grpc", "grpc-timeout": "1".repeat(15_000) }],
    ["connect-timeout-ms", { "connect-timeout-ms": "1".repeat(15_000) }],
    [":authority", { ":authority": `${"a".repeat(15_000)}%` }],
    ["if-none-match", { ":path": "/v1/inventory", ":method": "GET", "if-none-match": `"${spaces}` }],
    ["if-none-match, commas", { ":path": "/v1/inventory", ":method": "GET", "if-none-match": ", ".repeat(7_000) }],
    ["accept", { ":path": "/v1/inventory", ":method": "GET", accept: `a${spaces}b;q=` }],
    ["accept-encoding, REST", { ":path": "/v1/inventory", ":method": "GET", "accept-encoding": `a${spaces}b;q=` }],
    ["a query of one name", { ":path": `/v1/inventory?${"status=available&".repeat(900)}`, ":method": "GET" }],
    ["a query in percents", { ":path": `/v1/inventory?${"%61=&".repeat(3_000)}`, ":method": "GET" }],
    ["a path of many segments", { ":path": `/v1${"/a".repeat(7_000)}`, ":method": "GET" }],
    ["a path of many verbs", { ":path": `/v1/${":a".repeat(7_000)}`, ":method": "GET" }],
  ])("takes no long time: %s", async (_name, headers) => {
    const ms = await serverMs(async () => {
      const all = { authorization: `Bearer ${key}`, "content-type": "application/json", ...headers };
      const body = headers["content-encoding"] === undefined ? undefined : gzip;
      const { status } = await http2.send({ method: "POST", path, headers: all, body });
      expect(status).toBeLessThan(500);
    });
    expect(ms).toBeLessThan(200);
  });
});

describe("the body of a stranger", () => {
  /** More than anybody would wait for; of which no more is sent than is taken. */
  const announced = 2_000 * mebibyte;
  /** What the systems of both sides hold by themselves, and a little more than the server takes. */
  const takenAtMost = 24 * mebibyte;
  const piece = Buffer.alloc(65_536, "a");

  it.each([
    ["its length", `Content-Length: ${announced}`, piece],
    ["no length", "Transfer-Encoding: chunked", Buffer.concat([Buffer.from("10000\r\n"), piece, Buffer.from("\r\n")])],
  ])("is refused at once, and not taken, over HTTP/1.1 with %s", async (_title, line, chunk) => {
    const socket = openSocket(server);
    socket.write(`PATCH /v1/inventory/7 HTTP/1.1\r\nHost: x\r\n${line}\r\n\r\n`);
    expectErrorBody(await readAnswer(socket), "API_KEY_MISSING");
    await expectClosed(socket, chunk);
  });

  it("is not taken when it comes with the head", async () => {
    const socket = openSocket(server);
    socket.on("error", () => {}).resume();
    socket.write(`PATCH /v1/inventory/7 HTTP/1.1\r\nHost: x\r\nContent-Length: ${announced}\r\n\r\n`);
    await expectClosed(socket, piece);
  });

  it.each([
    ["by a method that it does not have", "PUT", "application/json", 405],
    ["of a type that it does not have", "POST", "x/y", 415],
    ["that is too large", "POST", "application/json", 429],
    ["that is no message", "POST", "application/connect+json", 200],
  ])("for health, %s, is not taken either", async (_title, method, type, status) => {
    const socket = openSocket(server);
    const rpc = type.includes("connect") ? "Watch" : "Check";
    const head = `${method} /grpc.health.v1.Health/${rpc} HTTP/1.1\r\nHost: x\r\nContent-Type: ${type}`;
    socket.write(`${head}\r\nContent-Length: ${announced}\r\n\r\n`);
    // Who goes on sending may lose the answer with the connection.
    const answer = readAnswer(socket).catch(() => undefined);
    await expectClosed(socket, piece);
    expect([status, undefined]).toContain((await answer)?.status);
  });

  /** Writes until the server closes the connection, which it does before it has taken much. */
  async function expectClosed(socket: Socket, chunk: Buffer): Promise<void> {
    const closed = new Promise((resolve) => socket.once("close", resolve));
    for (let sent = 0; sent < announced && !socket.destroyed; sent += chunk.length) {
      if (!socket.write(chunk)) {
        await Promise.race([new Promise((resolve) => socket.once("drain", resolve)), closed]);
      }
    }
    expect(socket.destroyed, "the server has closed the connection").toBe(true);
    expect(socket.bytesWritten - socket.writableLength).toBeLessThan(takenAtMost);
  }

  it("is refused at once, and not taken, over HTTP/2", async () => {
    const session = connectHttp2(server.origin);
    const stream = session.request({ ":method": "PATCH", ":path": "/v1/inventory/7" }, { endStream: false });
    stream.on("error", () => {}).resume();
    const [{ ":status": status }] = await once(stream, "response");
    expect(status).toBe(401);
    const closed = new Promise<void>((resolve) => stream.once("close", resolve));
    let taken = 0;
    while (taken < announced && !stream.destroyed) {
      const written = new Promise<void>((resolve) => {
        stream.write(piece, (error) => {
          taken += error ? 0 : piece.length;
          resolve();
        });
      });
      await Promise.race([written, closed]);
    }
    session.destroy();
    expect(taken).toBeLessThan(takenAtMost);
  });

  it("comes to an end when it is small, so that the connection can be used again", async () => {
    const socket = openSocket(server);
    for (let round = 0; round < 2; round++) {
      socket.write(`PATCH /v1/inventory/7 HTTP/1.1\r\nHost: x\r\nContent-Length: ${piece.length}\r\n\r\n`);
      expectErrorBody(await readAnswer(socket), "API_KEY_MISSING");
      socket.write(piece);
    }
    socket.destroy();
  });
});

describe("reflection", () => {
  it.each([
    ["the file of a symbol", 4, "petstore.v1.InventoryService"],
    ["a symbol that does not exist", 4, "a"],
    ["a file", 3, "petstore/v1/inventory_service.proto"],
    ["the extensions of a type", 6, "google.protobuf.MethodOptions"],
  ])("answers 200 of 1,000 questions for %s without a key in little time", async (_title, field, value) => {
    const question = Buffer.concat([Buffer.of((field << 3) | 2, value.length), Buffer.from(value)]);
    const ms = await serverMs(async () => {
      const answer = await http2.send({
        method: "POST",
        path: "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo",
        headers: { "content-type": "application/grpc", te: "trailers" },
        body: Buffer.concat(Array<Buffer>(1_000).fill(envelope(question))),
      });
      expect(answer.trailers.get("grpc-status")).toBe(String(Code.ResourceExhausted));
      expect(answer.bytes.length).toBeGreaterThan(200 * 5);
      expect(answer.bytes.length).toBeLessThan(4 * mebibyte);
    });
    expect(ms).toBeLessThan(400);
  });
});

describe("what the parser refuses", () => {
  it("is counted by its address, and refused past 300 a minute", async () => {
    const fresh = await startServer();
    onTestFinished(() => fresh.stop());
    const statuses: number[] = [];
    for (let made = 0; made < 301; made++) {
      const socket = openSocket(fresh);
      socket.write("GARBAGE\r\n\r\n");
      const answer = await readAnswer(socket);
      socket.destroy();
      expectErrorBody(answer, answer.status === 429 ? "RATE_LIMIT_EXCEEDED" : "INVALID_REQUEST");
      expectLimits(answer.headers);
      expect(answer.headers.has("retry-after")).toBe(answer.status === 429);
      statuses.push(answer.status);
    }
    expect(statuses).toEqual([...Array<number>(300).fill(400), 429]);
    const stranger = await fetch(`${fresh.origin}/v1/inventory`);
    expectErrorBody(
      { status: stranger.status, headers: stranger.headers, text: await stranger.text() },
      "RATE_LIMIT_EXCEEDED",
    );
  });
});
