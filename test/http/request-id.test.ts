import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { mayHoldSecret } from "../../src/domain/key.ts";
import { readRequestId } from "../../src/http/exchange.ts";
import { protocols } from "../support/clients/protocols.ts";
import { createHttp1Client, createHttp2Client } from "../support/http.ts";
import { sendRaw } from "../support/raw.ts";
import { type MintedKey, startServer, type TestServer } from "../support/server.ts";

const made = /^[A-Za-z0-9._-]{14,}$/;

let server: TestServer;
let key: MintedKey;

beforeAll(async () => {
  server = await startServer("--cors-origin", "https://app.example");
  key = await server.store.mintKey();
});

afterAll(() => server?.stop());

describe("the id of a request", () => {
  it.each(["a", "A-z.0_9", "x".repeat(128), "0af7651916cd43dd8448eb211c80319c"])("is the caller's: %s", (given) => {
    expect(readRequestId(given, mayHoldSecret)).toBe(given);
  });

  it.each([
    ["there is none", undefined],
    ["there are two", "a, a"],
    ["it is empty", ""],
    ["it is long", "x".repeat(129)],
    ["it would break a line", "a\nb"],
    ["it has a space", "a b"],
    ["it is not ASCII", "ä"],
    ["it is JSON", '"}'],
    ["it is a key", `psk_${"a".repeat(36)}`],
    ["it has a key in it, though not all of it", "till-3.psk_abcdefgh"],
  ])("is a new one where %s", (_title, given) => {
    const id = readRequestId(given, mayHoldSecret);
    expect(id).toMatch(made);
    expect(id).not.toBe(given);
  });

  it("is never made twice", () => {
    const ids = Array.from({ length: 10_000 }, () => readRequestId(undefined, mayHoldSecret));
    expect(new Set(ids).size).toBe(10_000);
  });
});

describe.each(protocols)("over $name", (protocol) => {
  it("stands on answers, the caller's own or a new one", async () => {
    const call = (headers: Record<string, string>) =>
      server.call(protocol, "getPet", { petId: 7n }, { key: key.key, headers });
    expect((await call({ "x-request-id": "mine-1" })).headers.get("x-request-id")).toBe("mine-1");
    expect((await call({})).headers.get("x-request-id")).toMatch(made);
  });

  it("stands on failures", async () => {
    const outcome = await server.call(protocol, "listOrders", {}, { headers: { "x-request-id": "mine-2" } });
    expect(outcome.failure?.code).toBe("API_KEY_MISSING");
    expect(outcome.headers.get("x-request-id")).toBe("mine-2");
  });
});

describe.each([
  ["HTTP/1.1", createHttp1Client],
  ["HTTP/2", createHttp2Client],
] as const)("over %s", (_version, createClient) => {
  const json = { "content-type": "application/json" };
  const preflight = { origin: "https://app.example", "access-control-request-method": "GET" };

  it.each([
    ["an unknown path", { method: "GET", path: "/v1/nothing" }],
    ["a page", { method: "GET", path: "/openapi.json" }],
    ["no page", { method: "GET", path: "/nothing" }],
    ["OPTIONS", { method: "OPTIONS", path: "/v1/inventory" }],
    ["a preflight", { method: "OPTIONS", path: "/v1/inventory", headers: preflight }],
    ["an unknown RPC", { method: "POST", path: "/petstore.v1.No/No", headers: json, body: "{}" }],
    ["health", { method: "POST", path: "/grpc.health.v1.Health/Check", headers: json, body: "{}" }],
  ])("stands on the answer to %s", async (_title, request) => {
    const http = createClient(server);
    const headers = { ...("headers" in request ? request.headers : {}), "x-request-id": "mine-3" };
    expect((await http.send({ ...request, headers })).headers.get("x-request-id")).toBe("mine-3");
    http.close();
  });
});

it("stands on what the HTTP parser refuses", async () => {
  expect((await sendRaw(server, "NONSENSE\r\n\r\n")).headers.get("x-request-id")).toMatch(made);
});
