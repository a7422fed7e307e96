import { gzipSync } from "node:zlib";
import { Code, ConnectError } from "@connectrpc/connect";
import { errorFromJson } from "@connectrpc/connect/protocol-connect";
import { describe, expect, it } from "vitest";
import type { Outcome } from "../support/clients/client.ts";
import { failureFromConnectError } from "../support/clients/failure.ts";
import type { ErrorCode } from "../support/error-codes.ts";
import { expectErrorBody, expectFailure, expectLimits } from "../support/expectations.ts";
import type { HttpAnswer, HttpClient, HttpRequest } from "../support/http.ts";
import { rpcPath } from "../support/operations.ts";
import { envelope, readConnectOutcome, readGrpcOutcome, readGrpcWebOutcome } from "../support/rpc-wire.ts";
import { useUnharmedServer } from "./unharmed-server.ts";

const tested = useUnharmedServer();

const list = rpcPath("listInventory");
const pet = rpcPath("getPet");
const changes = "/petstore.v1.InventoryService/WatchStockChanges";

describe("a deadline that is far off", () => {
  const grpc = (path: string, headers: Record<string, string>) => ({
    method: "POST",
    path,
    headers: { authorization: `Bearer ${tested.key}`, "content-type": "application/grpc", te: "trailers", ...headers },
    body: envelope(Buffer.of(8, 7)),
  });

  it.each(["99999999H", "99999999M", "99999999S", "35791395M", "99999999n"])(
    "is taken over gRPC: %s",
    async (timeout) => {
      const answer = await tested.http2.send(grpc(pet, { "grpc-timeout": timeout }));
      expect(answer.trailers.get("grpc-status")).toBe("0");
    },
  );

  it.each(["9999999999", "2147483648", "2147483647"])("is taken over Connect: %s ms", async (timeout) => {
    const headers = {
      authorization: `Bearer ${tested.key}`,
      "content-type": "application/json",
      "connect-timeout-ms": timeout,
    };
    for (const http of [tested.http1, tested.http2]) {
      const answer = await http.send({ method: "POST", path: pet, headers, body: '{"petId":7}' });
      expect(answer.status).toBe(200);
    }
  });
});

describe("a deadline of 0", () => {
  const message = Buffer.of(8, 7);
  const get = `${pet}?encoding=json&message=${encodeURIComponent('{"petId":7}')}`;
  const grpc = { "content-type": "application/grpc", "grpc-timeout": "0m", te: "trailers" };
  const web = { "content-type": "application/grpc-web+proto", "grpc-timeout": "0m" };
  const connect = { "content-type": "application/proto", "connect-timeout-ms": "0" };

  it.each<[title: string, request: HttpRequest, read: (answer: HttpAnswer) => Outcome]>([
    ["gRPC", { method: "POST", path: pet, headers: grpc, body: envelope(message) }, readGrpcOutcome],
    ["gRPC-Web", { method: "POST", path: pet, headers: web, body: envelope(message) }, readGrpcWebOutcome],
    ["Connect", { method: "POST", path: pet, headers: connect, body: message }, readConnectOutcome],
    ["GET of Connect", { method: "GET", path: get, headers: { "connect-timeout-ms": "0" } }, readConnectOutcome],
  ])("is exceeded by a read, though it is ready: over %s", async (_title, request, read) => {
    for (const http of [tested.http1, tested.http2]) {
      const headers = { authorization: `Bearer ${tested.key}`, ...request.headers };
      const outcome = read(await http.send({ ...request, headers }));
      expectFailure(outcome, "DEADLINE_EXCEEDED");
      expectLimits(outcome.headers);
    }
  });
});

describe("gRPC over HTTP/1.1", () => {
  const call = (path: string, message: Uint8Array, headers: Record<string, string> = {}) =>
    tested.http1.send({
      method: "POST",
      path,
      headers: {
        authorization: `Bearer ${tested.key}`,
        "content-type": "application/grpc",
        te: "trailers",
        ...headers,
      },
      body: envelope(message),
    });

  it("has the status of a call in its trailers", async () => {
    const answer = await call(pet, Buffer.of(8, 7));
    expect(answer.status).toBe(200);
    expect(answer.trailers.get("grpc-status")).toBe("0");
    expect(answer.headers.has("grpc-status")).toBe(false);
    expect(answer.bytes.readUInt32BE(1)).toBe(answer.bytes.length - 5);
  });

  it.each<[code: ErrorCode, status: string, message: Uint8Array, headers?: Record<string, string>]>([
    ["PET_NOT_FOUND", "5", Buffer.of(8, 100)],
    ["INVALID_REQUEST", "3", Buffer.of(8)],
    ["API_KEY_INVALID", "16", Buffer.of(8, 7), { authorization: "Bearer psk_wrong" }],
  ])("has %s in its headers, as there is nothing else", async (code, status, message, headers) => {
    const answer = await call(pet, message, headers);
    expect(answer.status).toBe(200);
    expect(answer.headers.get("grpc-status")).toBe(status);
    expect(answer.bytes.length).toBe(0);
    expectFailure(readGrpcOutcome(answer), code);
    expectLimits(answer.headers);
  });
});

describe("GET of an RPC", () => {
  const get = (http: HttpClient, type: string) =>
    http.send({ method: "GET", path: list, headers: { authorization: `Bearer ${tested.key}`, "content-type": type } });

  it.each([
    ["application/grpc", readGrpcOutcome],
    ["application/grpc+proto", readGrpcOutcome],
    ["application/grpc-web", readGrpcWebOutcome],
    ["application/grpc-web+proto", readGrpcWebOutcome],
  ])("is 405 as %s, with what is allowed", async (type, read) => {
    for (const http of [tested.http1, tested.http2]) {
      const answer = await get(http, type);
      expect([answer.status, answer.headers.get("allow")]).toEqual([405, "POST, OPTIONS"]);
      expect(read(answer).failure?.code).toBe("METHOD_NOT_ALLOWED");
      expect(read(answer).failure?.canonical).toBe("unimplemented");
      expectLimits(answer.headers);
    }
  });
});

describe("headers of more than 16 KiB", () => {
  it.each([
    ["of REST", "/v1/pets/7", {}],
    ["of an RPC", pet, {}],
    ["of gRPC", pet, { "content-type": "application/grpc" }],
    ["in one value", "/v1/pets/7", { x: "a".repeat(17_000) }],
    [
      "in 2,000 small fields",
      "/v1/pets/7",
      Object.fromEntries(Array.from({ length: 2_000 }, (_, i) => [`y-${i}`, "a"])),
    ],
    ["without a key", "/v1/pets/7", { authorization: "" }],
  ])("are HEADERS_TOO_LARGE over both versions of HTTP: %s", async (_title, path, given) => {
    const many = Object.fromEntries(Array.from({ length: 100 }, (_, index) => [`x-${index}`, "a".repeat(170)]));
    for (const http of [tested.http1, tested.http2]) {
      const headers = { authorization: `Bearer ${tested.key}`, ...many, ...given };
      const answer = await http.send({ method: "GET", path, headers });
      expectErrorBody(answer, "HEADERS_TOO_LARGE");
      expectLimits(answer.headers);
    }
  });

  const call = envelope(Buffer.of(8, 7));
  const streamed = envelope(Buffer.of());
  const connectStreamed = envelope(Buffer.from("{}"));
  const health = "/grpc.health.v1.Health/Watch";

  it.each<[status: number, path: string, type: string, body: Uint8Array, read: (answer: HttpAnswer) => Outcome]>([
    [200, pet, "application/grpc", call, readGrpcOutcome],
    [200, changes, "application/grpc+proto", streamed, readGrpcOutcome],
    [200, health, "application/grpc", streamed, readGrpcOutcome],
    [200, pet, "application/grpc-web+proto", call, readGrpcWebOutcome],
    [431, pet, "application/json", Buffer.from("{}"), readConnectOutcome],
    [200, changes, "application/connect+json", connectStreamed, readConnectStreamOutcome],
  ])("fail a call over HTTP/2 in its protocol, with HTTP %i: %s as %s", async (status, path, type, body, read) => {
    for (const bytes of [17_000, 60_000]) {
      const headers = { authorization: `Bearer ${tested.key}`, "content-type": type, x: "a".repeat(bytes) };
      const answer = await tested.http2.send({ method: "POST", path, headers, body });
      expect([answer.status, answer.headers.get("content-type")]).toEqual([status, type]);
      expectFailure(read(answer), "HEADERS_TOO_LARGE");
      expectLimits(answer.headers);
    }
  });

  it("are not sent back, if they are in the content type", async () => {
    for (const [type, path] of [
      ["application/grpc", pet],
      ["application/connect+json", changes],
    ] as const) {
      const headers = { authorization: `Bearer ${tested.key}`, "content-type": `${type} ; x=${"a".repeat(60_000)}` };
      const answer = await tested.http2.send({ method: "POST", path, headers, body: streamed });
      expect(answer.headers.get("content-type")).toBe(type);
    }
  });

  it("are more than those of 15 KB", async () => {
    for (const http of [tested.http1, tested.http2]) {
      const headers = { authorization: `Bearer ${tested.key}`, x: "a".repeat(15_000) };
      expect((await http.send({ method: "GET", path: "/v1/pets/7", headers })).status).toBe(200);
    }
  });
});

describe("what health and reflection cannot decode", () => {
  const check = "/grpc.health.v1.Health/Check";
  const watch = "/grpc.health.v1.Health/Watch";
  const reflection = "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo";
  const bad = Buffer.of(0x0a, 0x7f);

  it.each<[path: string, type: string, body: Uint8Array]>([
    [check, "application/proto", bad],
    [check, "application/json", Buffer.from("{")],
    [check, "application/grpc", envelope(bad)],
    [check, "application/grpc-web", envelope(bad)],
    [watch, "application/grpc", envelope(bad)],
    [watch, "application/connect+proto", envelope(bad)],
    [reflection, "application/grpc", envelope(bad)],
  ])("is the client's fault, and not internal: %s as %s", async (path, type, body) => {
    const answer = await tested.http2.send({
      method: "POST",
      path,
      headers: { "content-type": type, te: "trailers" },
      body,
    });
    const status = answer.trailers.get("grpc-status") ?? answer.headers.get("grpc-status");
    const code = status === null ? answer.text : `grpc-status: ${status}`;
    expect(code).toMatch(/"code": ?"invalid_argument"|grpc-status: 3\b/);
    expect(code).not.toMatch(/internal|premature/);
  });

  it.each<[path: string, type: string, headers: Record<string, string>]>([
    [check, "application/grpc", {}],
    [check, "application/grpc-web", {}],
    [watch, "application/grpc", {}],
    [watch, "application/grpc", { "grpc-encoding": "identity" }],
    [watch, "application/grpc", { "grpc-encoding": "" }],
    [check, "application/grpc", { "grpc-encoding": "" }],
    [watch, "application/grpc-web", {}],
    [watch, "application/connect+proto", {}],
    [reflection, "application/grpc", {}],
    [reflection, "application/connect+proto", {}],
  ])("is internal where a message is compressed by no name: %s as %s %o", async (path, type, headers) => {
    const body = envelope(gzipSync(Buffer.alloc(0)), { flags: 1 });
    const answer = await tested.http2.send({
      method: "POST",
      path,
      headers: { "content-type": type, te: "trailers", ...headers },
      body,
    });
    const { failure } = type.includes("connect") ? readConnectStreamOutcome(answer) : readAnyGrpcOutcome(type, answer);
    expect(failure).toMatchObject({ canonical: "internal", code: "INVALID_REQUEST" });
    expect(failure?.message).toMatch(/name no compression/);
  });

  it.each([
    [watch, "application/grpc", "grpc-encoding", "grpc-accept-encoding"],
    [watch, "application/grpc-web", "grpc-encoding", "grpc-accept-encoding"],
    [watch, "application/connect+proto", "connect-content-encoding", "connect-accept-encoding"],
    [reflection, "application/grpc", "grpc-encoding", "grpc-accept-encoding"],
    [reflection, "application/connect+proto", "connect-content-encoding", "connect-accept-encoding"],
  ])("is unimplemented where the compression is unknown: %s as %s", async (path, type, encoding, accept) => {
    const answer = await tested.http2.send({
      method: "POST",
      path,
      headers: { "content-type": type, te: "trailers", [encoding]: "zstd" },
      body: envelope(Buffer.alloc(0)),
    });
    const { failure } = type.includes("connect") ? readConnectStreamOutcome(answer) : readAnyGrpcOutcome(type, answer);
    expect(failure).toMatchObject({ canonical: "unimplemented", code: "INVALID_REQUEST" });
    expect(answer.headers.get(accept)).toBe("gzip, br");
  });

  it.each(
    [watch, reflection].flatMap((path) =>
      ["application/grpc+thrift", "application/grpc-web+thrift", "application/grpc+"].map((type) => ({ path, type })),
    ),
  )("is unimplemented where the codec is unknown: $path as $type", async ({ path, type }) => {
    for (const http of [tested.http1, tested.http2]) {
      const body = envelope(Buffer.alloc(0));
      const answer = await http.send({ method: "POST", path, headers: { "content-type": type, te: "trailers" }, body });
      expect(answer.status).toBe(200);
      const { failure } = readAnyGrpcOutcome(type, answer);
      expect(failure).toMatchObject({ canonical: "unimplemented", code: "INVALID_REQUEST" });
    }
  });

  it.each([watch, reflection])("is 405 for other methods, also where the codec is unknown: %s", async (path) => {
    const answer = await tested.http2.send({ method: "GET", path, headers: { "content-type": "application/grpc+x" } });
    expect([answer.status, answer.headers.get("allow")]).toEqual([405, "POST"]);
  });

  it.each(["application/grpc; x=1", "application/grpc+proto;charset=utf-8"])("takes parameters: %s", async (type) => {
    const headers = { "content-type": type, te: "trailers" };
    const body = envelope(Buffer.of(0x3a, 0x00));
    const answer = await tested.http2.send({ method: "POST", path: reflection, headers, body });
    expect(readGrpcOutcome(answer).failure).toBeUndefined();
    expect(answer.bytes.length).toBeGreaterThan(5);
  });

  it.each([
    ["application/grpc", readGrpcOutcome],
    ["application/grpc-web", readGrpcWebOutcome],
  ])("is refused within %s where the Host is bad", async (type, read) => {
    const headers = { "content-type": type, host: "[" };
    const answer = await tested.http1.send({ method: "POST", path: watch, headers, body: envelope(Buffer.alloc(0)) });
    expect(read(answer).failure).toMatchObject({ canonical: "invalid_argument", code: "INVALID_REQUEST" });
  });

  it("is decompressed where the compression has a name", async () => {
    const body = envelope(gzipSync(Buffer.of(0x0a, 0x00)), { flags: 1 });
    const headers = { "content-type": "application/grpc", te: "trailers", "grpc-encoding": "gzip" };
    const { headers: answered } = await tested.http2.send({ method: "POST", path: reflection, headers, body });
    expect([answered.get("grpc-status"), answered.get("grpc-accept-encoding")]).toEqual([null, null]);
  });
});

/** The failure in the last envelope of a stream over Connect. */
function readConnectStreamOutcome({ bytes }: HttpAnswer): Outcome {
  const end = JSON.parse(bytes.subarray(bytes.indexOf(2) + 5).toString());
  const error = errorFromJson(end.error, undefined, new ConnectError("no error", Code.DataLoss));
  return { failure: failureFromConnectError(error), headers: new Headers() };
}

function readAnyGrpcOutcome(type: string, answer: HttpAnswer): Outcome {
  return type === "application/grpc" ? readGrpcOutcome(answer) : readGrpcWebOutcome(answer);
}
