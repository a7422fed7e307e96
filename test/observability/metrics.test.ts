import { statfsSync, statSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import manifest from "../../package.json" with { type: "json" };
import { protocolNamed, protocols, rest } from "../support/clients/protocols.ts";
import { until } from "../support/deadline.ts";
import { createHttp1Client, createHttp2Client, type HttpRequest } from "../support/http.ts";
import { type Metrics, readMetrics } from "../support/metrics.ts";
import { samples } from "../support/operations.ts";
import { openSocket, readAnswer, sendRaw } from "../support/raw.ts";
import { type MintedKey, startServer, type TestServer } from "../support/server.ts";
import { watchProtocols } from "../support/watch.ts";

const calls = "petstore_calls_total";

let server: TestServer;
let key: MintedKey;

beforeAll(async () => {
  server = await startServer("--request-timeout", "1s", "--cors-origin", "https://app.example");
  key = await server.store.mintQuota(1_000_000, 1_000_000);
});

afterAll(() => server?.stop());

const authorization = () => ({ authorization: `Bearer ${key.key}` });

/**
 * Expects that what is done counts as this many calls of these labels, and as no others. Returns the metrics with them.
 */
async function expectCalls(
  count: number,
  labels: Record<string, string>,
  act: () => Promise<unknown>,
): Promise<Metrics> {
  const before = await readMetrics(server);
  await act();
  let after = before;
  const grown = (wanted: Record<string, string>) => after.sum(calls, wanted) - before.sum(calls, wanted);
  // Who has the answer may ask before the server has counted it.
  await until(async () => {
    after = await readMetrics(server);
    return grown(labels) >= count;
  }, 5_000);
  expect(grown(labels)).toBe(count);
  expect(grown({})).toBe(count);
  const { code: _, ...series } = labels;
  const durations = "petstore_call_duration_seconds_count";
  expect(after.sum(durations, series) - before.sum(durations, series)).toBe(count);
  return after;
}

describe.each(protocols)("over $name", (protocol) => {
  const name = /^[\w-]+/.exec(protocol.name)?.[0].toLowerCase() ?? "";

  it.each(samples)("a call of $operation is counted once", async ({ operation, input }) => {
    const method = new RegExp(`^petstore\\.v1\\.\\w+/${operation}$`, "i");
    const call = () => server.call(protocol, operation, input, { key: key.key });
    const after = await expectCalls(1, { protocol: name, code: "OK" }, call);
    expect(after.valuesOf(calls, "method").filter((value) => method.test(value))).toHaveLength(1);
  });

  it("a failed call is counted by its code", async () => {
    const call = () => server.call(protocol, "getPet", { petId: 404_404n }, { key: key.key });
    await expectCalls(1, { protocol: name, method: "petstore.v1.PetService/GetPet", code: "PET_NOT_FOUND" }, call);
  });

  it("a stranger's call is counted", async () => {
    await expectCalls(1, { protocol: name, code: "API_KEY_MISSING" }, () => server.call(protocol, "listOrders", {}));
  });
});

describe.each([
  ["HTTP/1.1", createHttp1Client],
  ["HTTP/2", createHttp2Client],
] as const)("over %s", (_version, createClient) => {
  const json = { "content-type": "application/json" };

  it.each<[title: string, request: HttpRequest, protocol: string, method: string, code: string]>([
    ["an unknown path", { method: "GET", path: "/v1/nothing" }, "rest", "unknown", "ROUTE_NOT_FOUND"],
    [
      "a method that is not taken",
      { method: "DELETE", path: "/v1/inventory" },
      "rest",
      "unknown",
      "METHOD_NOT_ALLOWED",
    ],
    ["OPTIONS", { method: "OPTIONS", path: "/v1/inventory" }, "rest", "unknown", "OK"],
    [
      "an unknown RPC",
      { method: "POST", path: "/petstore.v1.InventoryService/Burn", headers: json, body: "{}" },
      "connect",
      "unknown",
      "ROUTE_NOT_FOUND",
    ],
    [
      "a body that cannot be decoded",
      { method: "PATCH", path: "/v1/inventory/7", headers: json, body: "{" },
      "rest",
      "petstore.v1.InventoryService/UpdateInventory",
      "INVALID_REQUEST",
    ],
    ["a page", { method: "GET", path: "/openapi.json" }, "http", "reference", "OK"],
    ["the way to the reference", { method: "GET", path: "/" }, "http", "reference", "OK"],
    ["the reference", { method: "GET", path: "/docs" }, "http", "reference", "OK"],
    ["a page that there is not", { method: "GET", path: "/no" }, "http", "unknown", "ROUTE_NOT_FOUND"],
    ["a page's wrong method", { method: "POST", path: "/openapi.json" }, "http", "reference", "METHOD_NOT_ALLOWED"],
    [
      "a preflight",
      {
        method: "OPTIONS",
        path: "/v1/inventory",
        headers: { origin: "https://app.example", "access-control-request-method": "GET" },
      },
      "http",
      "unknown",
      "OK",
    ],
    [
      "a health check",
      { method: "POST", path: "/grpc.health.v1.Health/Check", headers: json, body: "{}" },
      "connect",
      "grpc.health.v1.Health/Check",
      "OK",
    ],
    [
      "an unknown RPC over gRPC, in whatever case its type is written",
      { method: "POST", path: "/no", headers: { "content-type": "APPLICATION/GRPC" } },
      "grpc",
      "unknown",
      "ROUTE_NOT_FOUND",
    ],
    [
      "a page that there is not, as of a type that only begins like gRPC's",
      { method: "POST", path: "/no", headers: { "content-type": "application/grpcx" } },
      "http",
      "unknown",
      "ROUTE_NOT_FOUND",
    ],
    [
      "the health of no service",
      { method: "POST", path: "/grpc.health.v1.Health/Check", headers: json, body: '{"service":"no"}' },
      "connect",
      "grpc.health.v1.Health/Check",
      "NOT_FOUND",
    ],
  ])("%s is counted once", async (_title, request, protocol, method, code) => {
    const http = createClient(server);
    const headers = { ...request.headers, ...authorization() };
    await expectCalls(1, { protocol, method, code }, () => http.send({ ...request, headers }));
    http.close();
  });
});

describe("what the HTTP parser refuses is counted once:", () => {
  it.each([
    ["INVALID_REQUEST", "NONSENSE\r\n\r\n"],
    ["HEADERS_TOO_LARGE", `GET /v1/inventory HTTP/1.1\r\nHost: a\r\nX: ${"a".repeat(100_000)}\r\n\r\n`],
  ])("%s", async (code, bytes) => {
    await expectCalls(1, { protocol: "http", method: "unknown", code }, () => sendRaw(server, bytes));
  });

  it("REQUEST_TIMEOUT", async () => {
    const socket = openSocket(server);
    socket.write("GET /v1/inventory HTTP/1.1\r\n");
    await expectCalls(1, { protocol: "http", code: "REQUEST_TIMEOUT" }, () => readAnswer(socket, 20_000));
    socket.destroy();
  });
});

it("has no labels but its own, whatever clients send", async () => {
  const before = await readMetrics(server);
  const http = createHttp1Client(server);
  for (let made = 0; made < 50; made++) {
    const hostile = `x${made}"}\\n{`;
    const headers = { ...authorization(), "content-type": "application/grpc-web+json", "user-agent": hostile };
    await http.send({ method: "POST", path: `/petstore.v1.X${made}/Y${encodeURIComponent(hostile)}`, headers });
    await http.send({ method: "GET", path: `/v1/pets/${encodeURIComponent(hostile)}`, headers: authorization() });
    await http.send({ method: "PROPFIND", path: `/${made}%22%0a`, headers: { "x-request-id": hostile } });
  }
  http.close();
  const after = await readMetrics(server);
  expect(
    after.valuesOf(calls, "method").filter((method) => !before.valuesOf(calls, "method").includes(method)),
  ).toEqual([]);
  expect(after.text).not.toMatch(/x\d|%22|PROPFIND/);
  expect(after.sum(calls, { protocol: "rest", code: "INVALID_REQUEST" })).toBeGreaterThanOrEqual(50);
});

describe.each(watchProtocols)("a stream over $name", (watchProtocol) => {
  it("is counted when it has ended, and its duration is not", async () => {
    const method = "petstore.v1.InventoryService/WatchStockChanges";
    const before = await readMetrics(server);
    const grown = (after: Metrics, series: string) => after.sum(series, { method }) - before.sum(series, { method });
    const opened = watchProtocol.open(server, {}, authorization());
    await opened.headers;
    expect(grown(await readMetrics(server), calls)).toBe(0);
    expect((await readMetrics(server)).sum("petstore_streams_open")).toBe(1);
    opened.stop();
    await until(async () => grown(await readMetrics(server), calls) === 1, 5_000);
    const after = await readMetrics(server);
    expect(grown(after, "petstore_call_duration_seconds_count")).toBe(0);
    expect(grown(after, "petstore_calls_failed_total")).toBe(0);
    const protocol = (/^[\w-]+/.exec(watchProtocol.name)?.[0] ?? "").toLowerCase();
    expect(after.sum(calls, { method, protocol })).toBeGreaterThan(before.sum(calls, { method, protocol }));
  });
});

it.each([
  ["application/grpc", "grpc"],
  ["APPLICATION/GRPC-WEB", "grpc-web"],
  ["application/grpcx", "connect"],
  ["application/json", "connect"],
])("counts a stream of reflection as of one protocol: of the type %s as of %s", async (type, protocol) => {
  const labels = { method: "grpc.reflection.v1.ServerReflection/ServerReflectionInfo" };
  const before = await readMetrics(server);
  const http = createHttp2Client(server);
  const headers = { "content-type": type, te: "trailers" };
  await http.send({ method: "POST", path: `/${labels.method}`, headers, body: "" });
  http.close();
  let after = before;
  await until(async () => {
    after = await readMetrics(server);
    return after.sum(calls, labels) > before.sum(calls, labels);
  }, 5_000);
  const grown = (of: string) =>
    after.sum(calls, { ...labels, protocol: of }) - before.sum(calls, { ...labels, protocol: of });
  expect(["connect", "grpc", "grpc-web"].filter((of) => grown(of) > 0)).toEqual([protocol]);
});

describe("the limits", () => {
  it("are shown by plan and outcome, with those near the limit", async () => {
    const { key: small } = await server.store.mintKey("--plan", "free");
    const before = await readMetrics(server);
    for (let made = 0; made < 61; made++) {
      await server.call(rest, "listInventory", { pageSize: 1 }, { key: small });
    }
    const after = await readMetrics(server);
    const grown = (name: string, labels: Record<string, string>) => after.sum(name, labels) - before.sum(name, labels);
    expect(grown("petstore_limit_decisions_total", { plan: "free", outcome: "admitted" })).toBe(60);
    expect(grown("petstore_limit_decisions_total", { plan: "free", outcome: "refused" })).toBe(1);
    // From 11 remaining to none.
    expect(grown("petstore_limit_near_total", { plan: "free" })).toBe(12);
    expect(grown(calls, { code: "RATE_LIMIT_EXCEEDED" })).toBe(1);
  });

  it("are shown with the keys of each plan, a second after they have changed", async () => {
    const before = (await readMetrics(server)).sum("petstore_keys", { plan: "business" });
    const { id } = await server.store.mintKey();
    const keys = async () => (await readMetrics(server)).sum("petstore_keys", { plan: "business" });
    await until(async () => (await keys()) === before + 1, 2_000);
    await server.store.run("keys", "revoke", id);
    await until(async () => (await keys()) === before, 2_000);
  });
});

describe("the store", () => {
  it("is shown with what it commits, and with its files", async () => {
    const before = await readMetrics(server);
    const update = (petId: bigint) =>
      server.call(
        protocolNamed("REST, HTTP/2"),
        "updateInventory",
        { petId, update: { quantity: BigInt(Date.now()) } },
        { key: key.key },
      );
    await Promise.all([1n, 2n, 3n, 4n].map(update));
    const after = await readMetrics(server);
    const grown = (name: string) => after.sum(name) - before.sum(name);
    expect(grown("petstore_commit_group_size_sum")).toBeGreaterThanOrEqual(4);
    expect(grown("petstore_commit_group_size_count")).toBeGreaterThanOrEqual(1);
    expect(grown("petstore_commit_sync_seconds_count")).toBe(grown("petstore_commit_group_size_count"));
    expect(grown("petstore_commit_sync_seconds_sum")).toBeGreaterThan(0);
    expect(after.sum("petstore_sqlite_file_bytes")).toBeGreaterThan(0);
    expect(after.sum("petstore_sqlite_wal_bytes")).toBeGreaterThan(0);
  });

  it("is shown with the room that it has left", async () => {
    const metrics = await readMetrics(server);
    const free = metrics.sum("petstore_store_filesystem_free_bytes");
    const { bavail, bsize } = statfsSync(server.store.directory);
    // Others use it, too.
    expect(Math.abs(free - bavail * bsize)).toBeLessThan(2 ** 30);
    expect(metrics.sum("petstore_store_filesystem_size_bytes")).toBeGreaterThan(free);
  });

  it("is shown with its last backup, which another process has made", async () => {
    const file = join(server.store.directory, "backup.db");
    const before = await readMetrics(server);
    expect(before.names).toContain("petstore_last_backup_timestamp_seconds");
    expect(before.sum("petstore_last_backup_timestamp_seconds")).toBe(0);
    const startedAtMs = Date.now();
    await server.store.run("backup", file);
    const after = await readMetrics(server);
    expect(after.sum("petstore_last_backup_timestamp_seconds")).toBeGreaterThanOrEqual(startedAtMs / 1_000);
    expect(after.sum("petstore_last_backup_timestamp_seconds")).toBeLessThanOrEqual(Date.now() / 1_000);
    expect(after.sum("petstore_last_backup_size_bytes")).toBe(statSync(file).size);
  });

  it("is shown with the list that is kept ready", async () => {
    const list = () => server.call(rest, "listInventory", {}, { key: key.key });
    const pieces = "petstore_list_cache_pieces_total";
    await list();
    // A key that was minted just before has the list made anew, once.
    const hits = async () => {
      const before = await readMetrics(server);
      await list();
      return (await readMetrics(server)).sum(pieces, { result: "hit" }) - before.sum(pieces, { result: "hit" });
    };
    await expect.poll(hits, { timeout: 10_000 }).toBe(1);
    const after = await readMetrics(server);
    expect(after.sum(pieces, { result: "miss" })).toBeGreaterThanOrEqual(1);
    expect(after.sum("petstore_list_cache_blocks_made_total")).toBeGreaterThanOrEqual(1);
    expect(after.sum("petstore_list_cache_bytes")).toBeGreaterThan(500);
  });
});

it("shows the process and what it runs", async () => {
  const metrics = await readMetrics(server);
  expect(metrics.sum("petstore_build_info", { version: manifest.version, node: process.versions.node })).toBe(1);
  expect(metrics.names).toContain("nodejs_eventloop_lag_p99_seconds");
  expect(metrics.sum("process_resident_memory_bytes")).toBeGreaterThan(10_000_000);
});
