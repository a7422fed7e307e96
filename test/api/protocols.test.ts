import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { connect as connectTls } from "node:tls";
import { gunzipSync, gzipSync } from "node:zlib";
import { create, toBinary } from "@bufbuild/protobuf";
import { type Client, Metadata, status } from "@grpc/grpc-js";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import {
  HealthCheckRequestSchema,
  type HealthCheckResponse,
  HealthCheckResponseSchema,
  HealthCheckResponse_ServingStatus as ServingStatus,
} from "../../gen/grpc/health/v1/health_pb.ts";
import { ServerReflectionRequestSchema } from "../../gen/grpc/reflection/v1/reflection_pb.ts";
import { ListInventoryRequestSchema, ListInventoryResponseSchema } from "../../gen/petstore/v1/inventory_service_pb.ts";
import { createCertificate } from "../support/certificate.ts";
import { codec, createGrpcClient, openChannel } from "../support/clients/grpc.ts";
import { rest } from "../support/clients/protocols.ts";
import { createRestClient } from "../support/clients/rest.ts";
import { until } from "../support/deadline.ts";
import { expectErrorBody, expectFailure, expectLimits, expectSuccess } from "../support/expectations.ts";
import { importFixture, pets, toCsv } from "../support/fixture.ts";
import { createHttp1Client, createHttp2Client, type HttpClient } from "../support/http.ts";
import { rpcPath } from "../support/operations.ts";
import { petstore } from "../support/petstore.ts";
import { openSocket, readAnswer, sendRaw } from "../support/raw.ts";
import { envelope, readGrpcOutcome } from "../support/rpc-wire.ts";
import {
  isOnPostgres,
  isSeveral,
  type MintedKey,
  serve,
  startServer,
  type TestServer,
  TestStore,
} from "../support/server.ts";
import { filesOf, openReflection, reflect, reflectionVersions } from "./reflection.ts";

const page = "https://app.example";

let server: TestServer;
let key: MintedKey;
let http1: HttpClient;
let http2: HttpClient;
let channel: Client;

beforeAll(async () => {
  server = await startServer("--cors-origin", page);
  key = await server.store.mintKey();
  http1 = createHttp1Client(server);
  http2 = createHttp2Client(server);
  channel = openChannel(server);
});

afterAll(async () => {
  http1?.close();
  http2?.close();
  channel?.close();
  await server?.stop();
});

const authorization = () => ({ authorization: `Bearer ${key.key}` });

describe("compression", () => {
  const message = toBinary(ListInventoryRequestSchema, create(ListInventoryRequestSchema));
  /** So many pets that their list is worth compressing, in either encoding. */
  const rows = Array.from({ length: 500 }, (_, index) => ({ ...pets[0], id: BigInt(index + 1) }));
  let stocked: TestServer;
  let http1: HttpClient;
  let http2: HttpClient;
  let headers: { authorization: string };

  beforeAll(async () => {
    const store = new TestStore();
    const file = join(store.directory, "pets.csv");
    writeFileSync(file, toCsv(rows));
    await store.run("import", file);
    headers = { authorization: `Bearer ${(await store.mintKey()).key}` };
    stocked = await serve(store);
    http1 = createHttp1Client(stocked);
    http2 = createHttp2Client(stocked);
  });
  afterAll(async () => {
    http1?.close();
    http2?.close();
    await stocked?.stop();
  });

  it.each([
    ["HTTP/1.1", () => http1],
    ["HTTP/2", () => http2],
  ])("goes both ways over Connect, %s", async (_version, http) => {
    const encodings = { "content-encoding": "gzip", "accept-encoding": "gzip" };
    const answer = await http().send({
      method: "POST",
      path: rpcPath("listInventory"),
      headers: { ...headers, ...encodings, "content-type": "application/json" },
      body: gzipSync("{}"),
    });
    expect(answer.headers.get("content-encoding")).toBe("gzip");
    expect(JSON.parse(gunzipSync(answer.bytes).toString()).items).toHaveLength(rows.length);
  });

  it.each([
    ["HTTP/1.1", () => http1],
    ["HTTP/2", () => http2],
  ])("goes to the server over a stream of Connect, %s", async (_version, http) => {
    const { bytes } = await http().send({
      method: "POST",
      path: "/petstore.v1.InventoryService/WatchStockChanges",
      headers: { ...headers, "connect-content-encoding": "gzip", "content-type": "application/connect+json" },
      body: envelope(gzipSync('{"petId":["12345"]}'), { flags: 1 }),
    });
    expect(JSON.parse(bytes.subarray(5).toString()).error).toMatchObject({ code: "not_found" });
  });

  it("goes both ways over gRPC", async () => {
    const encodings = { "grpc-encoding": "gzip", "grpc-accept-encoding": "gzip" };
    const answer = await http2.send({
      method: "POST",
      path: rpcPath("listInventory"),
      headers: { ...headers, ...encodings, "content-type": "application/grpc", te: "trailers" },
      body: envelope(gzipSync(message), { flags: 1 }),
    });
    expect(answer.trailers.get("grpc-status")).toBe("0");
    expect(answer.headers.get("grpc-encoding")).toBe("gzip");
    expect(answer.bytes[0]).toBe(1);
    const { items } = codec(ListInventoryResponseSchema).read(gunzipSync(answer.bytes.subarray(5)));
    expect(items).toHaveLength(rows.length);
  });
});

describe("paths", () => {
  it.each(
    [
      ["//v1/inventory", "/v1//inventory", "/v1/./inventory", "/v1/../v1/inventory", "/V1/inventory", "/v1/Inventory"],
      [
        "/v1/inventory/",
        "/v1%2Finventory",
        "/v1/%2e/inventory",
        "/v1/inventory%00",
        "/v1/inventory;x",
        "/v1/inventory.",
      ],
    ].flat(),
  )("are not normalised: %s", async (path) => {
    for (const http of [http1, http2]) {
      expectErrorBody(await http.send({ method: "GET", path, headers: authorization() }), "ROUTE_NOT_FOUND");
    }
  });

  it("serve a whole URL as a request target as the path in it", async () => {
    const head = `Host: pets\r\nAuthorization: Bearer ${key.key}\r\n\r\n`;
    expect((await sendRaw(server, `GET http://pets/v1/pets/7 HTTP/1.1\r\n${head}`)).status).toBe(200);
  });
});

describe("the operator's port", () => {
  const ops = (path: string) => createHttp1Client({ origin: server.opsOrigin }).send({ method: "GET", path });

  it.each(["/healthz", "/readyz"])("answers %s", async (path) => {
    expect((await ops(path)).status).toBe(200);
  });

  it.each(["/v1/inventory", rpcPath("listInventory"), "/docs", "/openapi.json"])("never serves %s", async (path) => {
    expect((await ops(path)).status).toBe(404);
  });

  it("has to itself what it answers", async () => {
    for (const path of ["/healthz", "/readyz", "/metrics"]) {
      expectErrorBody(await http1.send({ method: "GET", path }), "ROUTE_NOT_FOUND");
    }
  });
});

describe("health", () => {
  const check = (service: string) =>
    new Promise<HealthCheckResponse>((resolve, reject) => {
      channel.makeUnaryRequest(
        "/grpc.health.v1.Health/Check",
        codec(HealthCheckRequestSchema).write,
        codec(HealthCheckResponseSchema).read,
        create(HealthCheckRequestSchema, { service }) as never,
        (error, message) => (error === null && message !== undefined ? resolve(message) : reject(error as Error)),
      );
    });

  it.each(["", "petstore.v1.InventoryService", "petstore.v1.PetService", "petstore.v1.StoreService"])(
    "of '%s' is SERVING, without a key",
    async (service) => {
      expect((await check(service)).status).toBe(ServingStatus.SERVING);
    },
  );

  it("of an unknown service is NOT_FOUND", async () => {
    await expect(check("nope")).rejects.toMatchObject({ code: 5 });
  });

  it.each([
    ["", ServingStatus.SERVING],
    ["nope", ServingStatus.SERVICE_UNKNOWN],
  ])("of '%s' can be watched", async (service, status) => {
    const stream = watch(channel, service);
    const first = await new Promise<HealthCheckResponse>((resolve) => stream.once("data", resolve));
    stream.cancel();
    expect(first.status).toBe(status);
  });

  it.each([
    ["by the absolute form of its address", "http://x/grpc.health.v1.Health/Watch", ""],
    [
      "behind so many other requests that it has to wait",
      "/grpc.health.v1.Health/Watch",
      "GET /v1/nope HTTP/1.1\r\nHost: x\r\n\r\n".repeat(10),
    ],
  ])("can be watched over Connect and HTTP/1.1 %s", async (_how, target, before) => {
    const body = envelope(Buffer.from("{}")).toString("latin1");
    const headers = `Content-Type: application/connect+json\r\nContent-Length: ${body.length}`;
    const socket = openSocket(server);
    let received = "";
    socket.on("data", (chunk) => {
      received += chunk.toString("latin1");
    });
    // All but the end of the body comes at once.
    socket.write(`${before}POST ${target} HTTP/1.1\r\nHost: x\r\n${headers}\r\n\r\n${body.slice(0, -1)}`, "latin1");
    setTimeout(() => socket.write(body.slice(-1)), 300);
    await until(async () => received.includes("SERVING"), 5_000);
    socket.destroy();
  });

  it("answers over Connect, too", async () => {
    for (const http of [http1, http2]) {
      const headers = { "content-type": "application/json" };
      const answer = await http.send({ method: "POST", path: "/grpc.health.v1.Health/Check", headers, body: "{}" });
      expect(JSON.parse(answer.text)).toEqual({ status: "SERVING" });
    }
  });
});

function watch(from: Client, service: string) {
  const stream = from.makeServerStreamRequest(
    "/grpc.health.v1.Health/Watch",
    codec(HealthCheckRequestSchema).write,
    codec(HealthCheckResponseSchema).read as (bytes: Buffer) => HealthCheckResponse,
    create(HealthCheckRequestSchema, { service }) as never,
    new Metadata(),
  );
  stream.on("error", () => {});
  return stream;
}

describe.each(reflectionVersions)("reflection %s", (version) => {
  it("lists the services", async () => {
    const [answer] = await reflect(channel, version, { case: "listServices", value: "" });
    const names = answer?.case === "listServicesResponse" ? answer.value.service.map(({ name }) => name) : [];
    expect(names).toEqual(
      expect.arrayContaining([
        "grpc.health.v1.Health",
        "petstore.v1.InventoryService",
        "petstore.v1.PetService",
        "petstore.v1.StoreService",
      ]),
    );
  });

  it.each([
    ["petstore.v1.InventoryService", "petstore/v1/inventory_service.proto"],
    ["petstore.v1.InventoryService.ListInventory", "petstore/v1/inventory_service.proto"],
    ["petstore.v1.InventoryItem", "petstore/v1/inventory.proto"],
    ["petstore.v1.PetStatus", "petstore/v1/pet_status.proto"],
    ["grpc.health.v1.Health", "grpc/health/v1/health.proto"],
    // Clients decode the details of errors by these.
    ["google.rpc.ErrorInfo", "google/rpc/error_details.proto"],
    ["google.rpc.BadRequest", "google/rpc/error_details.proto"],
    ["petstore.v1.ErrorReason", "petstore/v1/error_reason.proto"],
  ])("finds the file of %s", async (symbol, file) => {
    const [answer] = await reflect(channel, version, { case: "fileContainingSymbol", value: symbol });
    expect(filesOf(answer).map(({ name }) => name)).toContain(file);
  });

  it("has every file that a service needs", async () => {
    const found = new Map<string, readonly string[]>();
    let wanted = ["petstore/v1/inventory_service.proto", "petstore/v1/store_service.proto"];
    while (wanted.length > 0) {
      const answers = await reflect(
        channel,
        version,
        ...wanted.map((value) => ({ case: "fileByFilename", value }) as const),
      );
      for (const file of answers.flatMap(filesOf)) {
        found.set(file.name, file.dependency);
      }
      expect(wanted.filter((name) => !found.has(name))).toEqual([]);
      wanted = [...found.values()].flat().filter((name) => !found.has(name));
    }
    expect([...found.keys()]).toEqual(
      expect.arrayContaining(["google/api/annotations.proto", "google/protobuf/descriptor.proto"]),
    );
  });

  it("finds the extension that holds the HTTP rules", async () => {
    const value = { containingType: "google.protobuf.MethodOptions", extensionNumber: 72_295_728 };
    const [answer] = await reflect(channel, version, { case: "fileContainingExtension", value } as never);
    expect(filesOf(answer).map(({ name }) => name)).toContain("google/api/annotations.proto");
  });

  it("answers an unknown symbol on the stream, and goes on", async () => {
    const answers = await reflect(
      channel,
      version,
      { case: "fileContainingSymbol", value: "nope.Nope" },
      { case: "fileByFilename", value: "nope.proto" },
      { case: "listServices", value: "" },
    );
    expect(answers.map((answer) => answer.case)).toEqual(["errorResponse", "errorResponse", "listServicesResponse"]);
    expect(answers[0]?.value).toMatchObject({ errorCode: 5 });
  });
});

describe("CORS", () => {
  const preflight = {
    "access-control-request-method": "PATCH",
    "access-control-request-headers": "authorization,content-type",
  };

  it("answers a preflight from a named origin without a key, on its address's count", async () => {
    for (const path of ["/v1/inventory/7", rpcPath("updateInventory")]) {
      const headers = { origin: page, ...preflight };
      const answer = await http1.send({ method: "OPTIONS", path, headers });
      expect([200, 204]).toContain(answer.status);
      expect(answer.headers.get("access-control-allow-origin")).toBe(page);
      expect(answer.headers.get("access-control-allow-headers")?.toLowerCase()).toContain("authorization");
      expect(answer.headers.get("vary")?.toLowerCase()).toContain("origin");
      expect(expectLimits(answer.headers).limit).toBe(300);
    }
    const { headers } = await http1.send({
      method: "OPTIONS",
      path: "/v1/inventory/7",
      headers: { origin: page, ...preflight },
    });
    expect(headers.get("access-control-allow-methods")).toContain("PATCH");
    expect(headers.get("allow")).toBeNull();
  });

  it.each([
    ["of the API", "/v1/inventory/7"],
    ["of an RPC", rpcPath("updateInventory")],
    ["of health", "/grpc.health.v1.Health/Check"],
    ["of a page", "/openapi.json"],
  ])("refuses a preflight %s with a bad Host", async (_title, path) => {
    const headers = { origin: page, ...preflight };
    const good = await http2.send({ method: "OPTIONS", path, headers });
    const bad = await http2.send({ method: "OPTIONS", path, headers: { ...headers, ":authority": "[" } });
    expect([good.status, bad.status]).toEqual([204, 400]);
    expect(bad.headers.get("access-control-allow-origin")).toBe(page);
    expect(bad.headers.get("x-ratelimit-limit")).toBe(good.headers.get("x-ratelimit-limit"));
  });

  it.each([
    ["success", () => authorization(), 200],
    ["a refusal", () => ({}), 401],
  ])("lets a page of a named origin read %s and its limits", async (_title, headers, status) => {
    const answer = await http1.send({ method: "GET", path: "/v1/inventory", headers: { origin: page, ...headers() } });
    expect(answer.status).toBe(status);
    expect(answer.headers.get("access-control-allow-origin")).toBe(page);
    const exposed = answer.headers.get("access-control-expose-headers")?.toLowerCase().split(/, */);
    expect(exposed).toEqual(
      expect.arrayContaining([
        "x-ratelimit-limit",
        "x-ratelimit-remaining",
        "x-ratelimit-reset",
        "retry-after",
        "etag",
        "idempotency-replayed",
        "x-inventory-cursor",
      ]),
    );
  });

  const check = "/grpc.health.v1.Health/Check";
  const watched = "/grpc.health.v1.Health/Watch";
  const reflection = "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo";

  it.each([
    ["GET", "/openapi.json", 200],
    ["GET", "/docs", 200],
    ["GET", "/nope", 404],
    ["POST", check, 200],
    ["POST", watched, 200],
    // It needs HTTP/2.
    ["POST", reflection, 505],
  ])("lets a page of a named origin %s what needs no key: %s", async (method, path, status) => {
    const asked = await http1.send({ method: "OPTIONS", path, headers: { origin: page, ...preflight } });
    expect(asked.status).toBe(204);
    expect(asked.headers.get("access-control-allow-methods")).toContain(method);
    expect(asked.headers.get("allow")).toBeNull();
    // What cannot be decoded ends a stream at once.
    const body = envelope(Buffer.of(0xff));
    const headers = { origin: page, ...(method === "POST" && { "content-type": "application/grpc-web+proto" }) };
    const answer = await http1.send({ method, path, headers, ...(method === "POST" && { body }) });
    expect(answer.status).toBe(status);
    for (const { headers } of [asked, answer]) {
      expect(headers.get("access-control-allow-origin")).toBe(page);
      expect(headers.get("vary")?.toLowerCase()).toContain("origin");
      expect(headers.get("x-ratelimit-limit")).toBeNull();
    }
  });

  it.each(["https://evil.example", "null", "https://app.example.evil.example", "http://app.example"])(
    "does nothing for %s",
    async (origin) => {
      const headers = { origin, ...authorization() };
      const answer = await http1.send({ method: "GET", path: "/v1/inventory", headers });
      expect(answer.status).toBe(200);
      expect(answer.headers.get("access-control-allow-origin")).toBeNull();
      const asked = await http1.send({ method: "OPTIONS", path: "/v1/inventory", headers: { origin, ...preflight } });
      expect(asked.headers.get("access-control-allow-origin")).toBeNull();
      expect(asked.status).toBe(401);
      const described = await http1.send({ method: "GET", path: "/openapi.json", headers: { origin } });
      expect(described.headers.get("access-control-allow-origin")).toBeNull();
    },
  );
});

describe("a server with other flags", () => {
  let plain: TestServer;

  beforeAll(async () => {
    plain = await serve(new TestStore(), { flags: ["--no-reflection"] });
  });
  afterAll(() => plain?.stop());

  it.each(reflectionVersions)("has no reflection %s with --no-reflection", async (version) => {
    const { key: secret } = await plain.store.mintKey();
    const http = createHttp2Client(plain);
    const answer = await http.send({
      method: "POST",
      path: `/grpc.reflection.${version}.ServerReflection/ServerReflectionInfo`,
      headers: { authorization: `Bearer ${secret}`, "content-type": "application/grpc", te: "trailers" },
      body: envelope(Buffer.alloc(0)),
    });
    http.close();
    expectFailure(readGrpcOutcome(answer), "ROUTE_NOT_FOUND");
  });

  it("has CORS off by default", async () => {
    const { key: secret } = await plain.store.mintKey();
    const http = createHttp1Client(plain);
    const headers = { origin: page, authorization: `Bearer ${secret}` };
    const answer = await http.send({ method: "GET", path: "/v1/inventory", headers });
    http.close();
    expect(answer.status).toBe(200);
    expect([...answer.headers.keys()].filter((name) => name.startsWith("access-control"))).toEqual([]);
  });

  it.skipIf(isOnPostgres)("lets no second server on its store, and says who holds it", async () => {
    const second = await petstore(["serve", "--port", "0", "--ops-port", "0", "--db", plain.store.db]);
    expect(second.code).toBe(1);
    expect(second.stdout).toBe("");
    expect(second.stderr).toContain(String(plain.pid));
    expect(second.stderr.trim().split("\n")).toHaveLength(1);
  });
});

describe("TLS", () => {
  let secure: TestServer;
  let secureKey: MintedKey;

  beforeAll(async () => {
    const store = new TestStore();
    const { certFile, keyFile, pem } = createCertificate(store.directory);
    await store.prepare();
    await importFixture(store.db);
    secureKey = await store.mintKey();
    secure = await serve(store, { flags: ["--tls-cert", certFile, "--tls-key", keyFile], ca: pem });
  });
  afterAll(() => secure?.stop());

  it.skipIf(isSeveral)("is named in the ready line", () => {
    expect(secure.readyLine).toBe(`petstore listening on ${secure.origin}`);
    expect(secure.origin).toMatch(/^https:\/\/127\.0\.0\.1:\d+$/);
  });

  it.each([
    ["REST, HTTP/1.1", () => createRestClient(createHttp1Client(secure))],
    ["REST, HTTP/2", () => createRestClient(createHttp2Client(secure))],
    ["gRPC", () => createGrpcClient(secure)],
  ])("carries %s", async (_name, open) => {
    const client = open();
    const outcome = await client.call("listInventory", { pageSize: 1 }, { key: secureKey.key });
    const { items, nextPageToken } = expectSuccess(outcome);
    expect(items).toHaveLength(1);
    expect(nextPageToken).not.toBe("");
    expect(outcome.headers.get("link") ?? secure.origin).toContain(secure.origin);
    client.close();
  });

  it.each([
    [["h2", "http/1.1"], "h2"],
    [["http/1.1"], "http/1.1"],
  ])("chooses among %j by ALPN", async (offered, chosen) => {
    const socket = connectTls({
      port: secure.port,
      ALPNProtocols: offered,
      ca: secure.ca ?? "",
      servername: "localhost",
    });
    await new Promise((resolve, reject) => socket.once("secureConnect", resolve).once("error", reject));
    expect(socket.alpnProtocol).toBe(chosen);
    socket.destroy();
  });
});

describe.skipIf(isSeveral)("SIGTERM", () => {
  it.each(reflectionVersions)("ends a stream of reflection %s on which nothing is asked", async (version) => {
    const ending = await startServer();
    const channel = openChannel(ending);
    const stream = openReflection(channel, version);
    const failed = once(stream, "error");
    const request = create(ServerReflectionRequestSchema, { messageRequest: { case: "listServices", value: "" } });
    stream.write(request);
    await once(stream, "data");

    const ended = ending.end();
    expect(await failed).toMatchObject([
      { code: status.UNAVAILABLE, details: expect.stringContaining("server stops") },
    ]);
    expect(await ended).toBe(0);
    // It is no failure of the service.
    expect(ending.log).not.toContain('"level":40');
    channel.close();
  });

  it.each([
    ["", [ServingStatus.SERVING, ServingStatus.NOT_SERVING]],
    ["nope", [ServingStatus.SERVICE_UNKNOWN]],
  ])("ends a watch of the health of '%s' as unavailable, behind its last status", async (service, expected) => {
    const ending = await startServer();
    const health = openChannel(ending);
    const watched = watch(health, service);
    const statuses: ServingStatus[] = [];
    watched.on("data", ({ status }: HealthCheckResponse) => statuses.push(status as ServingStatus));
    const failed = once(watched, "error");
    await until(async () => statuses.length === 1, 5_000);

    const ended = ending.end();
    expect(await failed).toMatchObject([
      { code: status.UNAVAILABLE, details: expect.stringContaining("server stops") },
    ]);
    expect(statuses).toEqual(expected);
    expect(await ended).toBe(0);
    // It is no failure of the service.
    expect(ending.log).not.toContain('"level":40');
    health.close();
  });

  it("turns readiness off, lets running calls finish, and exits with 0", async () => {
    const ending = await startServer();
    const { key: secret } = await ending.store.mintKey();
    const body = '{"quantity":99}';
    const socket = openSocket(ending);
    const head = `PATCH /v1/inventory/7 HTTP/1.1\r\nHost: pets\r\nAuthorization: Bearer ${secret}\r\nContent-Length: ${body.length}`;
    socket.write(`${head}\r\nExpect: 100-continue\r\n\r\n`);
    expect((await readAnswer(socket)).status).toBe(100);
    const running = readAnswer(socket);
    const ops = createHttp1Client({ origin: ending.opsOrigin });
    const health = openChannel(ending);
    const statuses: ServingStatus[] = [];
    const watched = watch(health, "");
    watched.on("data", ({ status }: HealthCheckResponse) => statuses.push(status as ServingStatus));
    await until(async () => statuses.length === 1, 5_000);

    const ended = ending.end();
    await until(async () => (await ops.send({ method: "GET", path: "/readyz" })).status === 503, 5_000);
    expect((await ops.send({ method: "GET", path: "/healthz" })).status).toBe(200);
    await until(async () => statuses.at(-1) === ServingStatus.NOT_SERVING, 5_000);
    socket.write(body);
    expect((await running).status).toBe(200);
    socket.destroy();
    health.close();
    expect(await ended).toBe(0);
    ops.close();

    const again = await serve(ending.store);
    const { items } = expectSuccess(await again.call(rest, "listInventory", {}, { key: secret }));
    expect(items.find(({ petId }) => petId === 7n)?.quantity).toBe(99n);
    await again.stop();
  });
});
