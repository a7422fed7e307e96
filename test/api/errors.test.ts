import { connect as connectSocket } from "node:net";
import { setTimeout } from "node:timers/promises";
import Database from "better-sqlite3";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { OrderStatus } from "../../gen/petstore/v1/order_pb.ts";
import type { Outcome } from "../support/clients/client.ts";
import { type Protocol, protocols, rest } from "../support/clients/protocols.ts";
import { until } from "../support/deadline.ts";
import { type ErrorCode, errorCodes } from "../support/error-codes.ts";
import { expectErrorBody, expectFailure, expectLimits } from "../support/expectations.ts";
import { createHttp1Client, createHttp2Client, type HttpClient, type HttpRequest } from "../support/http.ts";
import { rpcPath } from "../support/operations.ts";
import { readAnswer, sendRaw } from "../support/raw.ts";
import { envelope, readConnectOutcome, readGrpcOutcome, readGrpcWebOutcome } from "../support/rpc-wire.ts";
import { isOnPostgres, type MintedKey, startServer, type TestServer } from "../support/server.ts";

const mebibyte = 1_048_576;

interface Keys {
  readonly good: MintedKey;
  readonly reader: MintedKey;
  readonly expired: MintedKey;
  readonly revoked: MintedKey;
  readonly spent: MintedKey;
  readonly banned: MintedKey;
}

let server: TestServer;
let keys: Keys;
let http1: HttpClient;
let http2: HttpClient;

beforeAll(async () => {
  server = await startServer();
  const { store } = server;
  const [good, reader, expired, revoked, spent, banned] = await Promise.all([
    store.mintQuota(1_000_000, 1_000_000),
    store.mintKey("--scope", "inventory:read"),
    store.mintKey("--expires-in", "1s"),
    store.mintKey(),
    store.mintKey("--plan", "enterprise", "--per-minute", "1000", "--per-day", "1"),
    store.mintQuota(1, 1_000),
  ]);
  keys = { good, reader, expired, revoked, spent, banned };
  await store.run("keys", "revoke", revoked.id);
  const list = (key: string) => server.call(rest, "listInventory", {}, { key });
  await list(spent.key);
  for (let made = 0; made < 21; made++) {
    await list(banned.key);
  }
  await until(async () => (await list(expired.key)).failure !== undefined, 5_000);
  http1 = createHttp1Client(server);
  http2 = createHttp2Client(server);
});

afterAll(async () => {
  http1?.close();
  http2?.close();
  await server?.stop();
});

const key = (name: keyof Keys) => ({ key: keys[name].key });

describe.each(protocols)("over $name", (protocol) => {
  const realm = 'Bearer realm="petstore"';
  const invalidToken = `${realm}, error="invalid_token"`;
  const insufficientScope = `${realm}, error="insufficient_scope"`;

  it.each<[code: ErrorCode, challenge: string | null, call: () => Promise<Outcome>]>([
    ["INVALID_REQUEST", null, () => server.call(protocol, "listInventory", { pageSize: 0 }, key("good"))],
    ["INVALID_PAGE_TOKEN", null, () => server.call(protocol, "listOrders", { pageToken: "x" }, key("good"))],
    ["API_KEY_MISSING", realm, () => server.call(protocol, "listInventory", {})],
    ["API_KEY_INVALID", invalidToken, () => server.call(protocol, "listInventory", {}, { key: "psk_wrong" })],
    ["API_KEY_EXPIRED", invalidToken, () => server.call(protocol, "listInventory", {}, key("expired"))],
    ["API_KEY_REVOKED", invalidToken, () => server.call(protocol, "listInventory", {}, key("revoked"))],
    ["SCOPE_MISSING", insufficientScope, () => server.call(protocol, "getPet", { petId: 7n }, key("reader"))],
    ["PET_NOT_FOUND", null, () => server.call(protocol, "getPet", { petId: 404_404n }, key("good"))],
    ["RATE_LIMIT_EXCEEDED", null, () => server.call(protocol, "listInventory", {}, key("spent"))],
    ["API_KEY_BANNED", null, () => server.call(protocol, "listInventory", {}, key("banned"))],
  ])("answers %s in full, with the challenge %s", async (code, challenge, call) => {
    const outcome = await call();
    expectFailure(outcome, code);
    expectLimits(outcome.headers);
    const is = (status: number) => errorCodes[code].http === status;
    // RFC 6750, section 3.
    expect(outcome.headers.get("www-authenticate")).toBe(challenge);
    expect(outcome.headers.has("retry-after")).toBe(is(429));
    expect(outcome.failure?.retrySeconds !== undefined).toBe(is(429) && outcome.failure?.canonical !== undefined);
    expect((outcome.failure?.fields?.length ?? 0) > 0).toBe(
      code === "INVALID_REQUEST" && outcome.failure?.canonical !== undefined,
    );
  });

  it("names each field that is wrong, in the message or in BadRequest", async () => {
    const input = { pageSize: -1, status: [1, 99] as OrderStatus[] };
    const { failure } = await server.call(protocol, "listOrders", input, key("good"));
    if (failure?.fields === undefined) {
      expect(failure?.message).toMatch(/pageSize|status/);
    } else {
      expect(failure.fields.toSorted()).toEqual(["page_size", "status[1]"]);
      for (const field of failure.fields) {
        expect(failure.message).toContain(`${field}: `);
      }
    }
    expect(failure?.message).toMatch(/[^.]\.$/);
  });
});

function bearer(name: keyof Keys): Record<string, string> {
  return { authorization: `Bearer ${keys[name].key}` };
}

const json = { "content-type": "application/json" };
const patch = (over: Partial<HttpRequest>): HttpRequest => ({
  method: "PATCH",
  path: "/v1/inventory/7",
  headers: { ...bearer("good"), ...json },
  body: '{"quantity":3}',
  ...over,
});

describe.each([
  ["HTTP/1.1", () => http1],
  ["HTTP/2", () => http2],
])("over REST, %s", (_version, http) => {
  it.each<[code: ErrorCode, title: string, request: () => HttpRequest]>([
    ["ROUTE_NOT_FOUND", "an unknown path", () => ({ method: "GET", path: "/v1/nope", headers: bearer("good") })],
    ["ROUTE_NOT_FOUND", "the root", () => ({ method: "GET", path: "/v1", headers: bearer("good") })],
    ["ROUTE_NOT_FOUND", "the root, slash", () => ({ method: "GET", path: "/v1/", headers: bearer("good") })],
    ["ROUTE_NOT_FOUND", "a trailing slash", () => ({ method: "GET", path: "/v1/inventory/", headers: bearer("good") })],
    ["ROUTE_NOT_FOUND", "no pet", () => ({ method: "POST", path: "/v1/inventory/:adjust", headers: bearer("good") })],
    ["ROUTE_NOT_FOUND", "no hold", () => ({ method: "GET", path: "/v1/holds/:commit", headers: bearer("good") })],
    ["METHOD_NOT_ALLOWED", "DELETE", () => ({ method: "DELETE", path: "/v1/inventory", headers: bearer("good") })],
    ["MEDIA_TYPE_UNSUPPORTED", "text", () => patch({ headers: { ...bearer("good"), "content-type": "text/plain" } })],
    ["BODY_TOO_LARGE", "a byte too many", () => patch({ body: `{"quantity":3}${" ".repeat(mebibyte - 13)}` })],
  ])("answers %s in full: %s", async (code, _title, request) => {
    const answer = await http().send(request());
    expectErrorBody(answer, code);
    expectLimits(answer.headers);
    expect(answer.headers.has("allow")).toBe(code === "METHOD_NOT_ALLOWED");
  });

  it("answers an unknown path outside of the API with the Error body, without a key", async () => {
    for (const path of ["/nope", "/v2/inventory", "/v1x", "/favicon.ico", "/metrics", "/healthz", "/readyz"]) {
      expectErrorBody(await http().send({ method: "GET", path }), "ROUTE_NOT_FOUND");
    }
  });
});

describe("what the HTTP parser refuses", () => {
  it.each<[title: string, code: ErrorCode, bytes: () => string]>([
    ["headers of 100 kB", "HEADERS_TOO_LARGE", () => request(`X: ${"a".repeat(100_000)}\r\n`)],
    ["10,000 headers", "HEADERS_TOO_LARGE", () => request("X: abcdefghij\r\n".repeat(10_000))],
    ["a request line that is none", "INVALID_REQUEST", () => "HELLO\r\n\r\n"],
    ["an unknown version", "INVALID_REQUEST", () => "GET /v1/inventory HTTP/9.9\r\n\r\n"],
    ["a header without a colon", "INVALID_REQUEST", () => request("nonsense\r\n")],
    ["a NUL in a header", "INVALID_REQUEST", () => request("X: a\0b\r\n")],
    ["a length that is no number", "INVALID_REQUEST", () => request("Content-Length: x\r\n")],
    ["two lengths", "INVALID_REQUEST", () => request("Content-Length: 1\r\nContent-Length: 2\r\n")],
    ["a length and chunks", "INVALID_REQUEST", () => request("Content-Length: 3\r\nTransfer-Encoding: chunked\r\n")],
    ["the first bytes of TLS", "INVALID_REQUEST", () => "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n"],
  ])("has the Error body: %s", async (_title, code, bytes) => {
    expectErrorBody(await sendRaw(server, bytes()), code);
  });

  it("bears the limit headers where headers are too large", async () => {
    expectLimits((await sendRaw(server, request(`X: ${"a".repeat(100_000)}\r\n`))).headers);
  });

  it("is told when, as every answer is", async () => {
    const sentAt = Date.parse((await sendRaw(server, "HELLO\r\n\r\n")).headers.get("date") ?? "");
    expect(Math.abs(Date.now() - sentAt)).toBeLessThan(5_000);
  });

  it("is told to who goes on sending meanwhile", async () => {
    const socket = connectSocket({ port: Number(new URL(server.origin).port), host: "127.0.0.1", allowHalfOpen: true });
    const answer = readAnswer(socket);
    const errors: Error[] = [];
    socket.on("error", (error) => errors.push(error));
    socket.write(request(`X: ${"a".repeat(100_000)}`));
    // It is read all the same: else the system would take the answer back.
    for (let piece = 0; piece < 10; piece += 1) {
      await setTimeout(20);
      socket.write("a".repeat(10_000));
    }
    expect(errors).toEqual([]);
    expectErrorBody(await answer, "HEADERS_TOO_LARGE");
    socket.destroy();
  });

  function request(lines: string): string {
    return `GET /v1/inventory HTTP/1.1\r\nHost: pets\r\n${lines}\r\n`;
  }
});

describe("over Connect and gRPC", () => {
  const connect = (path: string, over: Partial<HttpRequest> = {}) => ({
    method: "POST",
    path,
    headers: { ...bearer("good"), ...json },
    body: "{}",
    ...over,
  });
  const grpc = (path: string, over: Partial<HttpRequest> = {}) => ({
    method: "POST",
    path,
    headers: { ...bearer("good"), "content-type": "application/grpc", te: "trailers" },
    body: envelope(Buffer.alloc(0)),
    ...over,
  });
  const tooLarge = Buffer.alloc(4 * mebibyte + 1, " ");

  it.each<[http: number, code: ErrorCode, request: () => HttpRequest]>([
    [404, "ROUTE_NOT_FOUND", () => connect("/petstore.v1.PetService/Nope")],
    [404, "ROUTE_NOT_FOUND", () => connect("/petstore.v1.NopeService/GetPet")],
    [429, "BODY_TOO_LARGE", () => connect(rpcPath("listInventory"), { body: tooLarge })],
    [400, "INVALID_REQUEST", () => connect(rpcPath("listInventory"), { body: "{" })],
    [404, "PET_NOT_FOUND", () => connect(rpcPath("getPet"), { body: '{"petId":"404404"}' })],
    [401, "API_KEY_MISSING", () => connect(rpcPath("getPet"), { headers: json })],
    [401, "API_KEY_MISSING", () => connect("/petstore.v1.PetService/Nope", { headers: json })],
    [403, "SCOPE_MISSING", () => connect(rpcPath("getPet"), { headers: { ...json, ...bearer("reader") } })],
    [429, "RATE_LIMIT_EXCEEDED", () => connect(rpcPath("getPet"), { headers: { ...json, ...bearer("spent") } })],
  ])("answers Connect by HTTP %i, %s", async (status, code, request) => {
    for (const http of [http1, http2]) {
      const answer = await http.send(request());
      expect(answer.status).toBe(status);
      expect(answer.headers.get("content-type")).toBe("application/json");
      const outcome = readConnectOutcome(answer);
      expectFailure(outcome, code);
      expectLimits(outcome.headers);
      expect(outcome.headers.has("retry-after")).toBe(code === "RATE_LIMIT_EXCEEDED");
    }
  });

  it.each<[code: ErrorCode, request: () => HttpRequest]>([
    ["ROUTE_NOT_FOUND", () => grpc("/petstore.v1.PetService/Nope")],
    ["ROUTE_NOT_FOUND", () => grpc("/petstore.v1.NopeService/GetPet")],
    ["BODY_TOO_LARGE", () => grpc(rpcPath("listInventory"), { body: envelope(tooLarge) })],
    ["INVALID_REQUEST", () => grpc(rpcPath("listInventory"), { body: envelope(Buffer.from([0x08])) })],
    [
      "API_KEY_MISSING",
      () => grpc("/petstore.v1.PetService/Nope", { headers: { "content-type": "application/grpc" } }),
    ],
  ])("answers gRPC by status 200 and %s", async (code, request) => {
    const answer = await http2.send(request());
    expect(answer.status).toBe(200);
    expect(answer.headers.get("content-type")).toMatch(/^application\/grpc/);
    const outcome = readGrpcOutcome(answer);
    expectFailure(outcome, code);
    expectLimits(outcome.headers);
    expect(outcome.headers.has("retry-after")).toBe(false);
  });

  it.each<[code: ErrorCode, path: string, body: Uint8Array]>([
    ["ROUTE_NOT_FOUND", "/petstore.v1.PetService/Nope", envelope(Buffer.alloc(0))],
    ["INVALID_REQUEST", rpcPath("listInventory"), envelope(Buffer.from([0x08]))],
    ["BODY_TOO_LARGE", rpcPath("listInventory"), envelope(tooLarge)],
  ])("answers gRPC-Web by status 200 and %s", async (code, path, body) => {
    for (const http of [http1, http2]) {
      const headers = { ...bearer("good"), "content-type": "application/grpc-web+proto" };
      const answer = await http.send({ method: "POST", path, headers, body });
      expect(answer.status).toBe(200);
      const outcome = readGrpcWebOutcome(answer);
      expectFailure(outcome, code);
      expectLimits(outcome.headers);
    }
  });
});

describe("of two faults, the one that is judged first is answered", () => {
  const text = { "content-type": "text/plain" };
  const large = `{"quantity":3}${" ".repeat(mebibyte)}`;

  it.each<[first: ErrorCode, second: string, request: () => HttpRequest]>([
    ["API_KEY_MISSING", "an unknown route", () => ({ method: "GET", path: "/v1/nope" })],
    ["API_KEY_INVALID", "a bad body", () => patch({ headers: { ...json, authorization: "Bearer x" }, body: "{" })],
    ["API_KEY_MISSING", "a bad Host", () => ({ method: "GET", path: "/v1/inventory", headers: { host: "[" } })],
    ["RATE_LIMIT_EXCEEDED", "an unknown route", () => ({ method: "GET", path: "/v1/nope", headers: bearer("spent") })],
    [
      "API_KEY_BANNED",
      "a method that is not allowed",
      () => patch({ method: "PUT", headers: bearer("banned"), body: undefined }),
    ],
    ["ROUTE_NOT_FOUND", "a media type", () => patch({ path: "/v1/nope", headers: { ...bearer("good"), ...text } })],
    ["ROUTE_NOT_FOUND", "a bad Host", () => patch({ path: "/v1/nope", headers: { ...bearer("good"), host: "[" } })],
    ["METHOD_NOT_ALLOWED", "a scope", () => patch({ method: "DELETE", headers: bearer("reader"), body: undefined })],
    ["METHOD_NOT_ALLOWED", "a large body", () => patch({ method: "PUT", body: large })],
    ["SCOPE_MISSING", "a media type", () => patch({ headers: { ...bearer("reader"), ...text } })],
    ["SCOPE_MISSING", "a large body", () => patch({ headers: { ...bearer("reader"), ...json }, body: large })],
    [
      "SCOPE_MISSING",
      "a bad pet id",
      () => patch({ path: "/v1/inventory/x", headers: { ...bearer("reader"), ...json } }),
    ],
    [
      "SCOPE_MISSING",
      "a pet that is not there",
      () => ({ method: "GET", path: "/v1/pets/404404", headers: bearer("reader") }),
    ],
    ["MEDIA_TYPE_UNSUPPORTED", "a large body", () => patch({ headers: { ...bearer("good"), ...text }, body: large })],
    ["MEDIA_TYPE_UNSUPPORTED", "a bad body", () => patch({ headers: { ...bearer("good"), ...text }, body: "{" })],
    [
      "MEDIA_TYPE_UNSUPPORTED",
      "a bad pet id",
      () => patch({ path: "/v1/inventory/x", headers: { ...bearer("good"), ...text } }),
    ],
    ["BODY_TOO_LARGE", "a bad pet id", () => patch({ path: "/v1/inventory/x", body: large })],
    ["BODY_TOO_LARGE", "a bad body", () => patch({ body: "{".repeat(mebibyte + 1) })],
    ["INVALID_REQUEST", "a pet that is not there", () => patch({ path: "/v1/inventory/404404", body: "{}" })],
  ])("%s before %s", async (first, _second, request) => {
    for (const http of [http1, http2]) {
      expectErrorBody(await http.send({ ...request() }), first);
    }
  });
});

describe.skipIf(isOnPostgres)("when the store's file cannot be written", () => {
  let outcomes: Map<Protocol, { update: Outcome; list: Outcome }>;

  beforeAll(async () => {
    const holder = new Database(server.store.db);
    holder.exec("BEGIN IMMEDIATE");
    const input = { petId: 2n, update: { quantity: 77n } };
    const calls = protocols.map(async (protocol) => {
      const update = await server.call(protocol, "updateInventory", input, key("good"));
      const list = await server.call(protocol, "listInventory", {}, key("good"));
      return [protocol, { update, list }] as const;
    });
    outcomes = new Map(await Promise.all(calls));
    holder.exec("ROLLBACK");
    holder.close();
  });

  it.each(protocols)("answers UNAVAILABLE to an update over $name, and goes on listing", (protocol) => {
    const { update, list } = outcomes.get(protocol) ?? {};
    expectFailure(update as Outcome, "UNAVAILABLE");
    expectLimits((update as Outcome).headers);
    expect(list?.message?.$typeName).toBe("petstore.v1.ListInventoryResponse");
  });

  it.each(protocols)("takes updates again when it can, over $name", async (protocol) => {
    const input = { petId: 2n, update: { quantity: 78n } };
    expect((await server.call(protocol, "updateInventory", input, key("good"))).failure).toBeUndefined();
  });
});
