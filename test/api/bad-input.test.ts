import { gzipSync } from "node:zlib";
import { create, toBinary } from "@bufbuild/protobuf";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { UpdateInventoryRequestSchema } from "../../gen/petstore/v1/inventory_service_pb.ts";
import type { Outcome } from "../support/clients/client.ts";
import { rest } from "../support/clients/protocols.ts";
import type { ErrorCode } from "../support/error-codes.ts";
import { expectErrorBody, expectFailure, expectSuccess } from "../support/expectations.ts";
import { int64Max, int64Min, pets } from "../support/fixture.ts";
import { createHttp1Client, createHttp2Client, type HttpAnswer, type HttpClient } from "../support/http.ts";
import { rpcPath } from "../support/operations.ts";
import { openSocket, type RawAnswer, readAnswer, sendRaw } from "../support/raw.ts";
import { envelope, readConnectOutcome, readGrpcOutcome, readGrpcWebOutcome } from "../support/rpc-wire.ts";
import { type MintedKey, startServer, type TestServer } from "../support/server.ts";

const mebibyte = 1_048_576;

let server: TestServer;
let key: MintedKey;
let http1: HttpClient;
let http2: HttpClient;
/** The answers to requests that never become whole; the server waits 3 s for them, while the other tests run. */
let late: { head: Promise<RawAnswer>; body: Promise<RawAnswer> };

beforeAll(async () => {
  server = await startServer("--request-timeout", "3s");
  key = await server.store.mintQuota(1_000_000, 1_000_000);
  http1 = createHttp1Client(server);
  http2 = createHttp2Client(server);
  late = {
    head: sendLate("PATCH /v1/inventory/7 HTTP/1.1\r\nHost: pets\r\n"),
    body: sendLate(`${patchHead()}Content-Length: 14\r\n\r\n{"quantity":`),
  };
});

afterAll(async () => {
  http1?.close();
  http2?.close();
  await server?.stop();
});

function sendLate(bytes: string): Promise<RawAnswer> {
  const socket = openSocket(server);
  socket.write(bytes);
  const answer = readAnswer(socket, 75_000);
  answer.catch(() => {});
  return answer;
}

function patchHead(): string {
  return `PATCH /v1/inventory/7 HTTP/1.1\r\nHost: pets\r\nAuthorization: Bearer ${key.key}\r\nContent-Type: application/json\r\n`;
}

/** The pet 7, as it is at the start. */
const unchanged = pets.find(({ id }) => id === 7n);

async function quantityOf7(): Promise<bigint | undefined> {
  const { items } = expectSuccess(await server.call(rest, "listInventory", {}, { key: key.key }));
  return items.find(({ petId }) => petId === 7n)?.quantity;
}

const resetTo = (quantity: bigint | undefined) =>
  server.call(rest, "updateInventory", { petId: 7n, update: { quantity: quantity ?? 0n } }, { key: key.key });

afterEach(async () => {
  expect(await quantityOf7(), "nothing may have changed, and the server must be alive").toBe(unchanged?.quantity);
});

function patch(body: string | Uint8Array | undefined, headers: Record<string, string> = {}, id = "7", http = http1) {
  const all = { authorization: `Bearer ${key.key}`, "content-type": "application/json", ...headers };
  return http.send({ method: "PATCH", path: `/v1/inventory/${id}`, headers: all, body });
}

describe("the quantity of an update over REST", () => {
  it.each<[text: string, value: bigint]>([
    ["3", 3n],
    ["3.0", 3n],
    ["3e0", 3n],
    ["3E+0", 3n],
    ["30e-1", 3n],
    ["0.3e1", 3n],
    ["3.000000000000000000000000000000000000", 3n],
    ["-0", 0n],
    ["-0.0", 0n],
    ["0e5", 0n],
    ["-3", -3n],
    ["9007199254740993", 9007199254740993n],
    ["9007199254740993.0", 9007199254740993n],
    ["9223372036854775807", int64Max],
    ["-9223372036854775808", int64Min],
    ["9.223372036854775807e18", int64Max],
    ["92233720368547758070e-1", int64Max],
    [" \t\r\n3 ", 3n],
  ])("may be written as %j", async (text, value) => {
    const answer = await patch(`{"quantity":${text}}`);
    expect(answer.text.trim()).toBe(`{"petId":7,"quantity":${value},"status":"pending"}`);
    await resetTo(unchanged?.quantity);
  });

  it.each(
    [
      ["3.5", '"3"', "true", "false", "null", "[3]", "{}", '{"quantity":3}', '""'],
      ["9223372036854775808", "-9223372036854775809", "9.223372036854775808e18", "9223372036854775807.5"],
      ["1e400", "-1e400", "1e19", "1e-1", "3.0000000000000000000000000000001", "1e999999999", "1e-999999999"],
      ["NaN", "Infinity", "03", "+3", "0x3", "3.", ".5", "1_000", "3n", "1e", "--3", "3 3", ""],
      ['"9223372036854775807"', "1".repeat(100_000), `0.${"1".repeat(100_000)}`],
    ].flat(),
  )("may not be written as %.40s", async (text) => {
    expectErrorBody(await patch(`{"quantity":${text}}`), "INVALID_REQUEST");
  });
});

describe("the body of an update over REST", () => {
  const deep = "[".repeat(10_000) + "]".repeat(10_000);

  it.each<[title: string, body: string | Uint8Array | undefined, code: ErrorCode]>([
    ["missing", undefined, "INVALID_REQUEST"],
    ["empty", "", "INVALID_REQUEST"],
    ["blank", "  \n", "INVALID_REQUEST"],
    ["no JSON", "quantity=3", "INVALID_REQUEST"],
    ["cut off", '{"quantity":3', "INVALID_REQUEST"],
    ["followed by something", '{"quantity":3} x', "INVALID_REQUEST"],
    ["with a trailing comma", '{"quantity":3,}', "INVALID_REQUEST"],
    ["with single quotes", "{'quantity':3}", "INVALID_REQUEST"],
    ["an array", '[{"quantity":3}]', "INVALID_REQUEST"],
    ["a number", "3", "INVALID_REQUEST"],
    ["a string", '"quantity"', "INVALID_REQUEST"],
    ["null", "null", "INVALID_REQUEST"],
    ["an empty object", "{}", "INVALID_REQUEST"],
    ["an object with other fields alone", '{"Quantity":3,"quantity ":3}', "INVALID_REQUEST"],
    ["an object that inherits", '{"__proto__":{"quantity":3}}', "INVALID_REQUEST"],
    ["an array 10,000 levels deep", deep, "INVALID_REQUEST"],
    ["a quantity 10,000 levels deep", `{"quantity":${deep}}`, "INVALID_REQUEST"],
    ["a deep array that is cut off", "[".repeat(500_000), "INVALID_REQUEST"],
    ["a lone surrogate for a quantity", '{"quantity":"\\ud800"}', "INVALID_REQUEST"],
    [
      "an object with a lone surrogate, be it in a field that is unknown",
      '{"quantity":3,"x":"\\ud800"}',
      "INVALID_REQUEST",
    ],
    ["an object with an unknown field 10,000 levels deep", `{"x":${deep},"quantity":3}`, "INVALID_REQUEST"],
    ["bytes that are no UTF-8", Buffer.from([0x7b, 0xff, 0xfe, 0x7d]), "INVALID_REQUEST"],
    ["2 MiB long", `{"quantity":3,"x":"${"x".repeat(2 * mebibyte)}"}`, "BODY_TOO_LARGE"],
    ["a byte too long", `{"quantity":3}${" ".repeat(mebibyte - 13)}`, "BODY_TOO_LARGE"],
  ])("is refused when it is %s", async (_title, body, code) => {
    expectErrorBody(await patch(body), code);
    expectErrorBody(await patch(body, {}, "7", http2), code);
  });

  it.each<[title: string, body: string]>([
    ["exactly 1 MiB long", `{"quantity":12}${" ".repeat(mebibyte - 15)}`],
    ["with __proto__", '{"__proto__":{"quantity":3,"status":"sold"},"quantity":12}'],
    ["with a field name in escapes", '{"\\u0071uantity":12}'],
  ])("is taken when it is %s", async (_title, body) => {
    expect((await patch(body)).status).toBe(200);
    expect((await patch(body, {}, "7", http2)).status).toBe(200);
  });

  it("is refused past 1 MiB though it names no length", async () => {
    const chunk = `10000\r\n${" ".repeat(0x10000)}\r\n`;
    const bytes = `${patchHead()}Transfer-Encoding: chunked\r\n\r\n${chunk.repeat(17)}0\r\n\r\n`;
    expectErrorBody(await sendRaw(server, bytes), "BODY_TOO_LARGE");
  });

  it("is refused by its length alone", async () => {
    expectErrorBody(await sendRaw(server, `${patchHead()}Content-Length: 1048577\r\n\r\n`), "BODY_TOO_LARGE");
  });

  it("is refused when a chunk has no size", async () => {
    const bytes = `${patchHead()}Transfer-Encoding: chunked\r\n\r\nzz\r\n{"quantity":3}\r\n0\r\n\r\n`;
    expectErrorBody(await sendRaw(server, bytes), "INVALID_REQUEST");
  });

  it.each<[contentType: string, code: ErrorCode | undefined]>([
    ["application/json", undefined],
    ["application/json; charset=utf-8", undefined],
    ["APPLICATION/JSON;CHARSET=UTF-8", undefined],
    ["text/plain", "MEDIA_TYPE_UNSUPPORTED"],
    ["text/json", "MEDIA_TYPE_UNSUPPORTED"],
    ["application/jsonp", "MEDIA_TYPE_UNSUPPORTED"],
    ["application/x-www-form-urlencoded", "MEDIA_TYPE_UNSUPPORTED"],
    ["multipart/form-data; boundary=x", "MEDIA_TYPE_UNSUPPORTED"],
    ["application/grpc", "MEDIA_TYPE_UNSUPPORTED"],
    ["nonsense", "MEDIA_TYPE_UNSUPPORTED"],
  ])("of the type %s", async (contentType, code) => {
    const answer = await patch('{"quantity":12}', { "content-type": contentType });
    if (code === undefined) {
      expect(answer.status).toBe(200);
    } else {
      expectErrorBody(answer, code);
    }
  });

  it("is taken as JSON without a type", async () => {
    const headers = { authorization: `Bearer ${key.key}` };
    const answer = await http1.send({ method: "PATCH", path: "/v1/inventory/7", headers, body: '{"quantity":12}' });
    expect(answer.status).toBe(200);
  });

  it.each(["gzip", "br", "nonsense"])("is refused in the coding %s", async (coding) => {
    const answer = await patch(gzipSync('{"quantity":3}'), { "content-encoding": coding });
    expectErrorBody(answer, "MEDIA_TYPE_UNSUPPORTED");
  });

  it("that never comes is answered REQUEST_TIMEOUT", { timeout: 80_000 }, async () => {
    expectErrorBody(await late.body, "REQUEST_TIMEOUT");
  });

  it("whose head never comes is answered REQUEST_TIMEOUT", { timeout: 80_000 }, async () => {
    expectErrorBody(await late.head, "REQUEST_TIMEOUT");
  });
});

describe("the pet's id in a path", () => {
  it.each(
    [
      ["abc", "7.0", "+7", "7%2F8", "07", "007", "00", "-0", "-07", "--7", "7e0", "0x7", "%207", "7%20", "null", "-"],
      ["9223372036854775808", "-9223372036854775809", "9".repeat(400), "%", "%zz", "%ff", "%EF%BC%97", "7;x=1", "%00"],
      ["7,8", "7%00", "__proto__", "7%0d%0a"],
    ].flat(),
  )("may not be %.40s", async (id) => {
    expectErrorBody(await patch('{"quantity":3}', {}, id), "INVALID_REQUEST");
    const headers = { authorization: `Bearer ${key.key}` };
    expectErrorBody(await http2.send({ method: "GET", path: `/v1/pets/${id}`, headers }), "INVALID_REQUEST");
  });

  it.each(["7", "%37"])("may be %s", async (id) => {
    expect(JSON.parse((await patch('{"quantity":12}', {}, id)).text).petId).toBe(7);
  });

  it.each(["", "7/", "7/8", "/7"])("makes an unknown route when it is '%s'", async (id) => {
    expectErrorBody(await patch('{"quantity":3}', {}, id), "ROUTE_NOT_FOUND");
  });
});

describe("a header over HTTP/2", () => {
  it.each(['"x" ', ' "x"', "\t"])("may not have spaces around its value: %j", async (value) => {
    const headers = { authorization: `Bearer ${key.key}`, "if-match": value };
    const answer = await http2.send({ method: "PATCH", path: "/v1/inventory/7", headers, body: '{"quantity":3}' });
    expectErrorBody(answer, "INVALID_REQUEST");
  });
});

describe("Host", () => {
  const hosts = ["a b", "[", "a/b", "a@b", "", "a:99999", "a:b", "[::1", "a?b", "a#b", "<a>", "%zz"];
  const get = (path: string, lines: string) =>
    sendRaw(server, `GET ${path} HTTP/1.1\r\n${lines}Authorization: Bearer ${key.key}\r\n\r\n`);

  it.each(hosts)("may not be '%s'", async (host) => {
    expectErrorBody(await get("/v1/inventory", `Host: ${host}\r\n`), "INVALID_REQUEST");
  });

  it("may not be missing", async () => {
    expectErrorBody(await get("/v1/inventory", ""), "INVALID_REQUEST");
  });

  it.each(["/v1/inventory", "/docs", "/openapi.json", "/nope"])("may not stand twice: %s", async (path) => {
    expectErrorBody(await get(path, "Host: a\r\nHost: b\r\n"), "INVALID_REQUEST");
  });

  it.each(["", "Host: \r\n", "Host: a b\r\n", "Host: a\r\nHost: b\r\n", "Host: a\r\nHost: a\r\n"])(
    "may be neither missing nor bad nor double beside a target in absolute form: %j",
    async (lines) => {
      expectErrorBody(await get("http://pets/v1/inventory", lines), "INVALID_REQUEST");
    },
  );

  it("may be another one than that of a target in absolute form", async () => {
    expect((await get("http://pets/v1/inventory", "Host: a\r\n")).status).toBe(200);
  });

  it.each(["localhost", "127.0.0.1:80", "[::1]:8080", "pets.example", "PETS.example:65535", "a_b"])(
    "may be %s",
    async (host) => {
      expect((await get("/v1/inventory", `Host: ${host}\r\n`)).status).toBe(200);
    },
  );

  it.each(["[", "a:99999"])("may not be '%s' over HTTP/2", async (host) => {
    const headers = { ":authority": host, authorization: `Bearer ${key.key}` };
    expectErrorBody(await http2.send({ method: "GET", path: "/v1/inventory", headers }), "INVALID_REQUEST");
  });

  it.each(["/v1/inventory", rpcPath("listInventory"), "/grpc.health.v1.Health/Check"])(
    "may not be missing, bad or double with OPTIONS: %s",
    async (path) => {
      for (const lines of ["", "Host: a b\r\n", "Host: a\r\nHost: b\r\n"]) {
        const head = `OPTIONS ${path} HTTP/1.1\r\n${lines}Authorization: Bearer ${key.key}\r\n\r\n`;
        expect((await sendRaw(server, head)).status, lines).toBe(400);
      }
      for (const wrong of [{ ":authority": "[" }, { "x-a": " x" }]) {
        const headers = { authorization: `Bearer ${key.key}`, ...wrong };
        const answer = await http2.send({ method: "OPTIONS", path, headers });
        expect([answer.status, answer.headers.get("allow")]).toEqual([400, null]);
      }
    },
  );

  it.each<[path: string, code: ErrorCode]>([
    ["/v1/inventory", "INVALID_REQUEST"],
    ["/v1/nope", "ROUTE_NOT_FOUND"],
  ])("is judged with the content: OPTIONS of %s is %s", async (path, code) => {
    const headers = { authorization: `Bearer ${key.key}`, ":authority": "[" };
    expectErrorBody(await http2.send({ method: "OPTIONS", path, headers }), code);
  });

  it("may not be bad over gRPC", async () => {
    const headers = { ":authority": "[", authorization: `Bearer ${key.key}`, "content-type": "application/grpc" };
    const answer = await http2.send({
      method: "POST",
      path: rpcPath("getPet"),
      headers,
      body: envelope(Buffer.of(8, 7)),
    });
    expectFailure(readGrpcOutcome(answer), "INVALID_REQUEST");
  });

  it("may not be bad over Connect", async () => {
    const body = '{"petId":"7"}';
    const headers = `Authorization: Bearer ${key.key}\r\nContent-Type: application/json\r\nContent-Length: ${body.length}`;
    const answer = await sendRaw(
      server,
      `POST ${rpcPath("getPet")} HTTP/1.1\r\nHost: a b\r\n${headers}\r\n\r\n${body}`,
    );
    expect(answer.status).toBe(400);
    expectFailure(readConnectOutcome(answer), "INVALID_REQUEST");
  });

  const paths = [
    ["/v1/inventory", "/v1/nope", "/", "/docs", "/openapi.json", "/nope", "*", "nonsense", "//", "http://[/v1/pets/7"],
    [rpcPath("listInventory"), "/petstore.v1.PetService/Nope", "/grpc.health.v1.Health/Check"],
    ["/grpc.health.v1.Health/Watch", "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo"],
    "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo",
  ].flat();
  const contentTypes = [
    ["application/json", "application/proto", "application/connect+json", "application/connect+proto"],
    [
      "application/grpc",
      "application/grpc-web",
      "application/grpc-web+proto",
      "application/grpc-web-text",
      "text/plain",
    ],
  ].flat();

  it.each(paths)("never ends the process: %s", async (path) => {
    for (const host of ["Host: a b\r\n", "Host: [\r\n", ""]) {
      for (const type of contentTypes) {
        for (const method of ["GET", "POST", "OPTIONS"]) {
          const head = `${method} ${path} HTTP/1.1\r\n${host}Authorization: Bearer ${key.key}\r\nContent-Type: ${type}\r\n`;
          const { status } = await sendRaw(server, `${head}Connection: close\r\nContent-Length: 5\r\n\r\n\0\0\0\0\0`);
          expect(status).toBeGreaterThanOrEqual(200);
          expect(status).not.toBe(500);
        }
      }
    }
  });
});

describe("over RPC", () => {
  const message = (quantity: bigint) =>
    toBinary(UpdateInventoryRequestSchema, create(UpdateInventoryRequestSchema, { petId: 7n, update: { quantity } }));
  /** A message with this many bytes in a field that is unknown. */
  const padded = (bytes: number) =>
    Buffer.concat([message(12n), Buffer.of(0xfa, 0x07, ...varint(bytes)), Buffer.alloc(bytes, "x")]);
  const path = rpcPath("updateInventory");

  const connect = async (type: string, body: string | Uint8Array, headers: Record<string, string> = {}) => {
    const all = { authorization: `Bearer ${key.key}`, "content-type": type, ...headers };
    const answers: HttpAnswer[] = [];
    for (const http of [http1, http2]) {
      answers.push(await http.send({ method: "POST", path, headers: all, body }));
    }
    return answers;
  };

  const grpc = (body: Uint8Array, headers: Record<string, string> = {}) =>
    http2.send({
      method: "POST",
      path,
      body,
      headers: { authorization: `Bearer ${key.key}`, "content-type": "application/grpc", te: "trailers", ...headers },
    });

  function expectRefused(outcome: Outcome, code: ErrorCode): void {
    expectFailure(outcome, code);
    expect(outcome.headers.get("retry-after")).toBeNull();
  }

  it.each<[title: string, type: string, body: string | Uint8Array, headers?: Record<string, string>]>([
    ["JSON that is cut off", "application/json", '{"petId":'],
    ["an empty JSON body", "application/json", ""],
    ["a JSON array", "application/json", "[]"],
    ["a quantity out of range", "application/json", '{"petId":"7","update":{"quantity":"9223372036854775808"}}'],
    ["a fractional quantity", "application/json", '{"petId":"7","update":{"quantity":3.5}}'],
    ["a boolean quantity", "application/json", '{"petId":"7","update":{"quantity":true}}'],
    ["a pet id of letters", "application/json", '{"petId":"abc","update":{"quantity":"3"}}'],
    ["a lone surrogate", "application/json", '{"petId":"\\ud800","update":{"quantity":"3"}}'],
    ["JSON 10,000 levels deep", "application/json", `{"update":${"[".repeat(10_000)}${"]".repeat(10_000)}}`],
    ["JSON that is no UTF-8", "application/json", Buffer.from([0x7b, 0xff, 0x7d])],
    ["a tag of a field 0", "application/proto", Buffer.of(0)],
    ["a field that is cut off", "application/proto", Buffer.of(0x08)],
    ["a length beyond the end", "application/proto", Buffer.of(0x12, 0x7f, 0x08)],
    ["a wire type that is none", "application/proto", Buffer.of(0x0f)],
    ["a group without end", "application/proto", Buffer.of(0x0b)],
    ["a body that is not compressed as it says", "application/proto", message(3n), { "content-encoding": "gzip" }],
    ["a timeout that is no number", "application/proto", message(3n), { "connect-timeout-ms": "x" }],
    ["a negative timeout", "application/proto", message(3n), { "connect-timeout-ms": "-1" }],
    ["a timeout of eleven digits", "application/proto", message(3n), { "connect-timeout-ms": "12345678901" }],
  ])("Connect refuses %s", async (_title, type, body, headers) => {
    for (const answer of await connect(type, body, headers)) {
      expect(answer.status).toBe(400);
      expectRefused(readConnectOutcome(answer), "INVALID_REQUEST");
    }
  });

  it.each<[title: string, canonical: string, body: Uint8Array, headers?: Record<string, string>]>([
    ["no message", "unimplemented", Buffer.alloc(0)],
    ["two messages", "unimplemented", Buffer.concat([envelope(message(3n)), envelope(message(4n))])],
    ["a compressed message without an encoding", "internal", envelope(gzipSync(message(3n)), { flags: 1 })],
    ["an encoding that is not known", "unimplemented", envelope(message(3n)), { "grpc-encoding": "snappy" }],
    ["a body that is compressed as a whole", "unimplemented", envelope(message(3n)), { "content-encoding": "gzip" }],
  ])("gRPC and gRPC-Web refuse the framing of %s as %s", async (_title, canonical, body, headers) => {
    const refusal = { code: "INVALID_REQUEST", canonical };
    expect(readGrpcOutcome(await grpc(body, headers)).failure).toMatchObject(refusal);
    for (const http of [http1, http2]) {
      const web = { "content-type": "application/grpc-web+proto", authorization: `Bearer ${key.key}`, ...headers };
      const answer = await http.send({ method: "POST", path, headers: web, body });
      expect(readGrpcWebOutcome(answer).failure).toMatchObject(refusal);
    }
  });

  it("gRPC and gRPC-Web refuse a codec that is not known in their own words", async () => {
    const { headers, trailers } = await grpc(envelope(message(3n)), { "content-type": "application/grpc+thrift" });
    expect(headers.get("content-type")).toBe("application/grpc");
    expect(trailers.get("grpc-status") ?? headers.get("grpc-status")).toBe("12");
    const web = { "content-type": "application/grpc-web+thrift", authorization: `Bearer ${key.key}` };
    const answer = await http1.send({ method: "POST", path, headers: web, body: envelope(message(3n)) });
    expect(answer.headers.get("content-type")).toBe("application/grpc-web");
    expect(readGrpcWebOutcome(answer).failure).toMatchObject({ canonical: "unimplemented" });
  });

  it.each(["application/grpcfoo", "application/grpc-web-text"])("refuses the content type %s by 415", async (type) => {
    for (const answer of await connect(type, envelope(message(3n)))) {
      expect(answer.status).toBe(415);
    }
  });

  it.each<[title: string, body: Uint8Array, headers?: Record<string, string>]>([
    ["a prefix that is cut off", Buffer.of(0, 0, 0)],
    ["a message that is cut off", envelope(message(3n), { length: 99 })],
    ["a field that is cut off", envelope(Buffer.of(0x08))],
    ["a wire type that is none", envelope(Buffer.of(0x0f))],
    ["bytes after the message", Buffer.concat([envelope(message(3n)), Buffer.of(1, 2)])],
    ["a message that is not compressed as it says", envelope(message(3n), { flags: 1 }), { "grpc-encoding": "gzip" }],
    ["a timeout without a unit", envelope(message(3n)), { "grpc-timeout": "5" }],
    ["a timeout of letters", envelope(message(3n)), { "grpc-timeout": "abc" }],
    ["a timeout of nine digits", envelope(message(3n)), { "grpc-timeout": "123456789S" }],
    ["a negative timeout", envelope(message(3n)), { "grpc-timeout": "-1S" }],
  ])("gRPC and gRPC-Web refuse %s", async (_title, body, headers) => {
    expectRefused(readGrpcOutcome(await grpc(body, headers)), "INVALID_REQUEST");
    for (const http of [http1, http2]) {
      const web = { "content-type": "application/grpc-web+proto", authorization: `Bearer ${key.key}`, ...headers };
      expectRefused(
        readGrpcWebOutcome(await http.send({ method: "POST", path, headers: web, body })),
        "INVALID_REQUEST",
      );
    }
  });

  it("takes more than 1 MiB", async () => {
    const body = padded(2 * mebibyte);
    for (const answer of await connect("application/proto", body)) {
      expect(answer.status).toBe(200);
    }
    expect(readGrpcOutcome(await grpc(envelope(body))).failure).toBeUndefined();
  });

  it("refuses more than 4 MiB, with nothing to wait for", async () => {
    const body = padded(4 * mebibyte);
    for (const answer of await connect("application/proto", body)) {
      expectRefused(readConnectOutcome(answer), "BODY_TOO_LARGE");
    }
    const outcome = readGrpcOutcome(await grpc(envelope(body)));
    expectRefused(outcome, "BODY_TOO_LARGE");
    expect(outcome.failure?.message).toContain("4194304 bytes");
  });

  it("refuses a small body that unfolds to more than 4 MiB", async () => {
    const body = gzipSync(padded(64 * mebibyte));
    for (const answer of await connect("application/proto", body, { "content-encoding": "gzip" })) {
      expectRefused(readConnectOutcome(answer), "BODY_TOO_LARGE");
    }
    const grpcAnswer = await grpc(envelope(body, { flags: 1 }), { "grpc-encoding": "gzip" });
    expectRefused(readGrpcOutcome(grpcAnswer), "BODY_TOO_LARGE");
  });

  it("refuses a prefix that announces 4 GiB", async () => {
    expectRefused(readGrpcOutcome(await grpc(envelope(message(3n), { length: 0xffff_ffff }))), "BODY_TOO_LARGE");
  });

  it.each(["nonsense", "snappy"])("refuses the encoding %s", async (encoding) => {
    const { failure, headers } = readGrpcOutcome(
      await grpc(envelope(message(3n), { flags: 1 }), { "grpc-encoding": encoding }),
    );
    expect(failure).toMatchObject({ code: "INVALID_REQUEST", canonical: "unimplemented" });
    expect(headers.get("grpc-accept-encoding")).toBe("gzip, br");
    for (const answer of await connect("application/proto", message(3n), { "content-encoding": encoding })) {
      expect(readConnectOutcome(answer).failure).toMatchObject({ code: "INVALID_REQUEST", canonical: "unimplemented" });
      expect(answer.headers.get("accept-encoding")).toBe("gzip, br");
    }
  });

  it("takes an empty encoding for none", async () => {
    const body = envelope(message(12n));
    expect(readGrpcOutcome(await grpc(body, { "grpc-encoding": "", "content-encoding": "" })).failure).toBeUndefined();
    for (const answer of await connect("application/proto", message(12n), { "content-encoding": "" })) {
      expect(answer.status).toBe(200);
    }
  });

  it.each(["text/plain", "application/xml", "application/jsonx"])("refuses the media type %s by 415", async (type) => {
    for (const answer of await connect(type, message(3n))) {
      expect(answer.status).toBe(415);
      expect(answer.text).toContain("MEDIA_TYPE_UNSUPPORTED");
    }
  });

  it.each([
    ["?encoding=json&message=%7B", 400],
    ["?encoding=json&message=%7B%7D&base64=2", 200],
    ["?encoding=json&message=%7B%7D&compression=&connect=v1", 200],
    ["?encoding=json&message=%7B%7D&compression=snappy", 501],
    ["?encoding=json&message=***&base64=1", 400],
    ["?encoding=proto&message=%FF", 400],
    ["?encoding=json", 400],
  ])("Connect GET of a list by %s is HTTP %i", async (query, status) => {
    const headers = { authorization: `Bearer ${key.key}` };
    for (const http of [http1, http2]) {
      const answer = await http.send({ method: "GET", path: rpcPath("listInventory") + query, headers });
      expect(answer.status).toBe(status);
    }
  });

  it.each(["GET", "PUT", "DELETE", "PATCH"])("%s of an RPC with side effects is 405", async (method) => {
    const headers = { authorization: `Bearer ${key.key}` };
    const query = `?encoding=json&message=${encodeURIComponent('{"petId":"7","update":{"quantity":"3"}}')}`;
    const answer = await http1.send({ method, path: path + query, headers });
    expect(answer.status).toBe(405);
    expect(answer.headers.get("allow")).toContain("POST");
  });

  function varint(value: number): number[] {
    return value < 0x80 ? [value] : [(value & 0x7f) | 0x80, ...varint(value >>> 7)];
  }
});
