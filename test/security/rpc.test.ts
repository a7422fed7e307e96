import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import type { ErrorCode } from "../support/error-codes.ts";
import { expectErrorBody, expectFailure, expectLimits } from "../support/expectations.ts";
import { beyondDouble, int64Max, int64Min } from "../support/fixture.ts";
import { createHttp1Client, createHttp2Client, type HttpClient } from "../support/http.ts";
import { rpcPath } from "../support/operations.ts";
import { envelope, readConnectOutcome, readGrpcOutcome, readGrpcWebOutcome } from "../support/rpc-wire.ts";
import { startServer, type TestServer } from "../support/server.ts";
import { expectUnharmed } from "../support/unharmed.ts";

let server: TestServer;
let key: string;
let http1: HttpClient;
let http2: HttpClient;

beforeAll(async () => {
  server = await startServer();
  ({ key } = await server.store.mintQuota(1_000_000, 1_000_000));
  http1 = createHttp1Client(server);
  http2 = createHttp2Client(server);
});

afterEach(() => expectUnharmed(server, key));

afterAll(async () => {
  http1?.close();
  http2?.close();
  await server?.stop();
});

/** Calls an RPC by Connect's JSON over both versions of HTTP, whose answers must be the same. */
async function connect(path: string, body: string, headers: Record<string, string> = {}) {
  const all = { authorization: `Bearer ${key}`, "content-type": "application/json", ...headers };
  const answers = await Promise.all(
    [http1, http2].map((http) => http.send({ method: "POST", path, headers: all, body })),
  );
  const [first, second] = answers.map(({ status, text }) => ({ status, text }));
  expect(first).toEqual(second);
  return answers[0] as (typeof answers)[0];
}

const list = rpcPath("listInventory");
const orders = rpcPath("listOrders");
const update = rpcPath("updateInventory");
const pet = rpcPath("getPet");

describe("Connect's JSON", () => {
  const deep = (levels: number) => "[".repeat(levels) + "]".repeat(levels);

  it.each<[title: string, path: string, body: string]>([
    ["a status that does not exist", list, '{"status":["NOPE"]}'],
    ["a status by its name in REST", list, '{"status":["sold"]}'],
    ["a status that does not exist, of orders", orders, '{"status":["NOPE"]}'],
    ["a status that does not exist, beside one that does", list, '{"status":["PET_STATUS_SOLD","NOPE"]}'],
    ["a status by a number that has no name", list, '{"status":[99]}'],
    ["a status that is none", list, '{"status":["PET_STATUS_UNSPECIFIED"]}'],
    ["a status that is null", list, '{"status":[null]}'],
    ["a status that is no list", list, '{"status":"PET_STATUS_SOLD"}'],
    ["a status in a list of lists", list, '{"status":[["PET_STATUS_SOLD"]]}'],
    ["a number just past int64", update, '{"petId":"7","update":{"quantity":9223372036854775808}}'],
    [
      "a number that a double would round to an integer",
      update,
      '{"petId":7,"update":{"quantity":3.0000000000000000001}}',
    ],
    ["a status that a double would round to one", list, '{"status":[3.0000000000000000001]}'],
    ["a page size just past int32", list, '{"pageSize":2147483648}'],
    ["half of a surrogate pair", list, '{"pageToken":"\\ud800"}'],
    ["half of a surrogate pair in an unknown field", list, '{"x":{"y":["\\ud800"]}}'],
    ["half of a surrogate pair in an unknown name", list, '{"\\udc00":1}'],
    ["101 levels in an unknown field", list, `{"x":${deep(100)}}`],
    ["10,000 levels in an unknown field", list, `{"x":${deep(10_000)}}`],
    ["101 levels in a known field", list, `{"status":${deep(100)}}`],
    ["__proto__ with what is wrong in it", list, '{"status":["NOPE"],"__proto__":{"status":[]}}'],
  ])("is refused with %s", async (_title, path, body) => {
    const answer = await connect(path, body);
    expect(answer.status).toBe(400);
    expectFailure(readConnectOutcome(answer), "INVALID_REQUEST");
    expectLimits(answer.headers);
    expect(answer.text).not.toContain("NOPE");
  });

  it.each<[title: string, body: string, count: number]>([
    ["an unknown field", '{"x":1,"status":["PET_STATUS_SOLD"]}', 3],
    ["an unknown field that has an unknown name in it", '{"x":{"status":["NOPE"]},"status":["PET_STATUS_SOLD"]}', 3],
    ["99 levels in an unknown field", `{"x":${deep(99)},"status":["PET_STATUS_SOLD"]}`, 3],
    ["a status by its number", '{"status":[3]}', 3],
    ["__proto__", '{"__proto__":{"status":["NOPE"]}}', 13],
    ["null for a field", '{"status":null,"pageSize":null}', 13],
    ["the field's name in the proto", '{"page_size":1}', 1],
    ["an integer as a number with a fraction", '{"pageSize":1.0}', 1],
    ["an integer with an exponent", '{"pageSize":10e-1}', 1],
    ["an integer as a text", '{"pageSize":"1"}', 1],
  ])("is taken with %s", async (_title, body, count) => {
    const answer = await connect(list, body);
    expect(answer.status).toBe(200);
    expect(JSON.parse(answer.text).items).toHaveLength(count);
  });

  it.each([beyondDouble, int64Max, int64Min])("has the pet %s by its exact number", async (id) => {
    for (const text of [`${id}`, `"${id}"`, `${id}.0`, `${id}0e-1`]) {
      const answer = await connect(pet, `{"petId":${text}}`);
      expect(JSON.parse(answer.text).pet.id, text).toBe(String(id));
    }
    const { failure } = readConnectOutcome(await connect(pet, `{"petId":${id > 0n ? id - 1n : id + 1n}}`));
    expect(failure?.code).toBe("PET_NOT_FOUND");
  });
});

describe("a status that is none", () => {
  const names = (prefix: string) => `status: must be one of ${prefix}AVAILABLE, ${prefix}PENDING, ${prefix}SOLD`;

  it("is refused with those that there are", async () => {
    for (const status of ["[0]", "[99]", '["PET_STATUS_UNSPECIFIED"]', "[1,0]"]) {
      const { failure } = readConnectOutcome(await connect(list, `{"status":${status}}`));
      expect(failure?.message, status).toBe(names("PET_STATUS_"));
    }
    for (const status of ["unspecified", "", "0", "1", "SOLD", "pet_status_sold"]) {
      const path = `/v1/inventory?status=${status}`;
      const answer = await http1.send({ method: "GET", path, headers: { authorization: `Bearer ${key}` } });
      expectErrorBody(answer, "INVALID_REQUEST");
      expect(JSON.parse(answer.text).message, status).toBe(`${names("").toLowerCase()}.`);
    }
  });
});

describe("a deadline that is far off", () => {
  const grpc = (path: string, headers: Record<string, string>) => ({
    method: "POST",
    path,
    headers: { authorization: `Bearer ${key}`, "content-type": "application/grpc", te: "trailers", ...headers },
    body: envelope(Buffer.of(8, 7)),
  });

  it.each(["99999999H", "99999999M", "99999999S", "35791395M", "99999999n"])(
    "is taken over gRPC: %s",
    async (timeout) => {
      const answer = await http2.send(grpc(pet, { "grpc-timeout": timeout }));
      expect(answer.trailers.get("grpc-status")).toBe("0");
    },
  );

  it.each(["9999999999", "2147483648", "2147483647"])("is taken over Connect: %s ms", async (timeout) => {
    expect((await connect(pet, '{"petId":7}', { "connect-timeout-ms": timeout })).status).toBe(200);
  });
});

describe("gRPC over HTTP/1.1", () => {
  const call = (path: string, message: Uint8Array, headers: Record<string, string> = {}) =>
    http1.send({
      method: "POST",
      path,
      headers: { authorization: `Bearer ${key}`, "content-type": "application/grpc", te: "trailers", ...headers },
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
  ])("has %s in its trailers", async (code, status, message, headers) => {
    const answer = await call(pet, message, headers);
    expect(answer.status).toBe(200);
    expect(answer.trailers.get("grpc-status")).toBe(status);
    expectFailure(readGrpcOutcome(answer), code);
    expectLimits(answer.headers);
  });
});

describe("GET of an RPC", () => {
  const get = (http: HttpClient, type: string) =>
    http.send({ method: "GET", path: list, headers: { authorization: `Bearer ${key}`, "content-type": type } });

  it.each([
    ["application/grpc", readGrpcOutcome],
    ["application/grpc+proto", readGrpcOutcome],
    ["application/grpc-web", readGrpcWebOutcome],
    ["application/grpc-web+proto", readGrpcWebOutcome],
  ])("is METHOD_NOT_ALLOWED as %s", async (type, read) => {
    for (const http of [http1, http2]) {
      const answer = await get(http, type);
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
    ["without a key", "/v1/pets/7", { authorization: "" }],
  ])("are HEADERS_TOO_LARGE over both versions of HTTP: %s", async (_title, path, given) => {
    const many = Object.fromEntries(Array.from({ length: 100 }, (_, index) => [`x-${index}`, "a".repeat(170)]));
    for (const http of [http1, http2]) {
      const headers = { authorization: `Bearer ${key}`, ...many, ...given };
      const answer = await http.send({ method: "GET", path, headers });
      expectErrorBody(answer, "HEADERS_TOO_LARGE");
      expectLimits(answer.headers);
    }
  });

  it("are more than those of 15 KB", async () => {
    for (const http of [http1, http2]) {
      const headers = { authorization: `Bearer ${key}`, x: "a".repeat(15_000) };
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
    const answer = await http2.send({ method: "POST", path, headers: { "content-type": type, te: "trailers" }, body });
    const status = answer.trailers.get("grpc-status") ?? answer.headers.get("grpc-status");
    const code = status === null ? answer.text : `grpc-status: ${status}`;
    expect(code).toMatch(/"code": ?"invalid_argument"|grpc-status: 3\b/);
    expect(code).not.toMatch(/internal|premature/);
  });
});
