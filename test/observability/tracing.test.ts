import { once } from "node:events";
import { createServer, type Server } from "node:http";
import { type AddressInfo, createServer as createTcpServer, type Server as NetServer } from "node:net";
import { json } from "node:stream/consumers";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import manifest from "../../package.json" with { type: "json" };
import { type Protocol, protocols, rest } from "../support/clients/protocols.ts";
import { until } from "../support/deadline.ts";
import { importFixture } from "../support/fixture.ts";
import { createHttp1Client, createHttp2Client } from "../support/http.ts";
import { openSocket } from "../support/raw.ts";
import { type MintedKey, serve, type TestServer, TestStore } from "../support/server.ts";

/** A span as OTLP has it in JSON. Source: opentelemetry/proto/trace/v1/trace.proto */
interface Span {
  readonly traceId: string;
  readonly parentSpanId?: string;
  readonly name: string;
  readonly kind: number;
  readonly status: { readonly code?: number };
  readonly attributes: readonly { readonly key: string; readonly value: Record<string, unknown> }[];
}

interface Export {
  readonly resourceSpans: readonly {
    readonly resource: { readonly attributes: Span["attributes"] };
    readonly scopeSpans: readonly { readonly spans: readonly Span[] }[];
  }[];
}

/** A collector that takes OTLP over HTTP, in JSON. */
class Collector {
  readonly spans: Span[] = [];
  readonly services = new Set<unknown>();
  readonly versions = new Set<unknown>();
  readonly #server: Server;

  constructor() {
    this.#server = createServer((request, response) => {
      void json(request).then((body) => {
        this.#take(body as Export);
        response.setHeader("content-type", "application/json").end("{}");
      });
    });
  }

  #take({ resourceSpans }: Export): void {
    for (const { resource, scopeSpans } of resourceSpans) {
      this.services.add(attributesOf(resource)["service.name"]);
      this.versions.add(attributesOf(resource)["service.version"]);
      this.spans.push(...scopeSpans.flatMap(({ spans }) => spans));
    }
  }

  async listen(): Promise<string> {
    await new Promise<void>((resolve) => this.#server.listen(0, "127.0.0.1", resolve));
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** The one span of a trace, once it is here. */
  async spanOf(traceId: string): Promise<Span> {
    const find = () => this.spans.filter((span) => span.traceId === traceId);
    await until(async () => find().length > 0, 5_000);
    expect(find()).toHaveLength(1);
    return find()[0] as Span;
  }

  close(): void {
    this.#server.close();
    this.#server.closeAllConnections();
  }
}

function attributesOf({ attributes }: Pick<Span, "attributes">): Record<string, unknown> {
  return Object.fromEntries(attributes.map(({ key, value }) => [key, Object.values(value)[0]]));
}

const parentSpanId = "b7ad6b7169203331";
const serverKind = 2;
const errorStatus = 2;

let made = 0;

/** A trace that is sampled, and the header by which a caller tells of it. */
function newTrace() {
  made += 1;
  const traceId = `0af7651916cd43dd8448eb2100${String(made).padStart(6, "0")}`;
  return { traceId, headers: { traceparent: `00-${traceId}-${parentSpanId}-01` } };
}

const collector = new Collector();
let server: TestServer;
let key: MintedKey;

beforeAll(async () => {
  const store = new TestStore();
  await importFixture(store.db);
  key = await store.mintKey();
  const env = {
    OTEL_EXPORTER_OTLP_ENDPOINT: await collector.listen(),
    OTEL_EXPORTER_OTLP_PROTOCOL: "http/json",
    OTEL_BSP_SCHEDULE_DELAY: "50",
  };
  server = await serve(store, { env, flags: ["--log-level", "debug"] });
});

afterAll(async () => {
  await server?.stop();
  collector.close();
});

describe.each(protocols)("over $name", (protocol: Protocol) => {
  it("a call is a span, a child of the caller's", async () => {
    const { traceId, headers } = newTrace();
    await server.call(protocol, "getPet", { petId: 7n }, { key: key.key, headers });
    const span = await collector.spanOf(traceId);
    expect(span).toMatchObject({ parentSpanId, name: "petstore.v1.PetService/GetPet", kind: serverKind });
    expect(attributesOf(span)).toMatchObject({
      "rpc.system": /^[\w-]+/.exec(protocol.name)?.[0].toLowerCase(),
      "rpc.service": "petstore.v1.PetService",
      "rpc.method": "GetPet",
      "petstore.key_id": key.id,
      "client.address": "127.0.0.1",
      "url.path": expect.stringMatching(/^\/(v1\/pets\/7|petstore\.v1\.PetService\/GetPet)$/),
    });
    expect(JSON.stringify(span)).not.toContain(key.key);
  });

  it("a refused call is a span with its code", async () => {
    const { traceId, headers } = newTrace();
    await server.call(protocol, "getPet", { petId: 404_404n }, { key: key.key, headers });
    const span = await collector.spanOf(traceId);
    expect(attributesOf(span)["error.type"]).toBe("PET_NOT_FOUND");
    // It is the caller's fault, and no error of the server's span.
    expect(span.status.code ?? 0).not.toBe(errorStatus);
  });
});

it("a health check is a span", async () => {
  const { traceId, headers } = newTrace();
  const http = createHttp1Client(server);
  const request = { method: "POST", path: "/grpc.health.v1.Health/Check", body: "{}" };
  await http.send({ ...request, headers: { ...headers, "content-type": "application/json" } });
  http.close();
  expect(await collector.spanOf(traceId)).toMatchObject({ parentSpanId, name: "grpc.health.v1.Health/Check" });
});

it.each([
  ["PUT", "PUT", "PUT"],
  ["SPAM-1", "HTTP", "_OTHER"],
  ["constructor", "HTTP", "_OTHER"],
])("a request that leads nowhere is a span, whose name nobody chooses: %s", async (method, name, attribute) => {
  const { traceId, headers } = newTrace();
  const http = createHttp2Client(server);
  await http.send({ method, path: `/v1/nowhere/${key.key}?query=${key.key}`, headers });
  http.close();
  const span = await collector.spanOf(traceId);
  expect([span.name, attributesOf(span)["http.request.method"]]).toEqual([name, attribute]);
  expect(attributesOf(span)["url.path"]).toBe("/v1/nowhere/********");
});

it("a call that the caller does not sample is none", async () => {
  const unsampled = newTrace();
  const headers = { traceparent: unsampled.headers.traceparent.replace(/01$/, "00") };
  await server.call(rest, "getPet", { petId: 7n }, { key: key.key, headers });
  const { traceId, headers: sampled } = newTrace();
  await server.call(rest, "getPet", { petId: 7n }, { key: key.key, headers: sampled });
  await collector.spanOf(traceId);
  expect(collector.spans.filter((span) => span.traceId === unsampled.traceId)).toEqual([]);
});

it("a malformed context begins a trace of its own", async () => {
  const headers = { traceparent: "00-nonsense-01", "x-request-id": "no-context" };
  await server.call(rest, "getPet", { petId: 7n }, { key: key.key, headers });
  const find = () => collector.spans.find((span) => attributesOf(span)["petstore.request_id"] === "no-context");
  await until(async () => find() !== undefined, 5_000);
  expect(find()?.parentSpanId ?? "").toBe("");
});

it("a call that waits behind another one of its connection is no part of that one's trace", async () => {
  const { traceId, headers } = newTrace();
  const socket = openSocket(server);
  const body = '{"quantity":1}';
  const request = (fields: Record<string, string>) =>
    [
      "PATCH /v1/inventory/7 HTTP/1.1",
      `host: x\r\nauthorization: Bearer ${key.key}\r\ncontent-type: application/json`,
      `content-length: ${body.length}`,
      ...Object.entries(fields).map(([name, value]) => `${name}: ${value}`),
      `\r\n${body}`,
    ].join("\r\n");
  socket.write(request(headers) + request({ "x-request-id": "behind-a-trace" }));
  const find = () => collector.spans.find((span) => attributesOf(span)["petstore.request_id"] === "behind-a-trace");
  await until(async () => find() !== undefined, 5_000);
  socket.destroy();
  expect(find()?.parentSpanId ?? "").toBe("");
  await collector.spanOf(traceId);
});

it("the log names the trace of a call", async () => {
  const { traceId, headers } = newTrace();
  await server.call(rest, "getPet", { petId: 7n }, { key: key.key, headers });
  await until(async () => server.log.includes(`"traceId":"${traceId}"`), 5_000);
});

it("the service has a name and a version", () => {
  expect([...collector.services]).toEqual(["petstore"]);
  expect([...collector.versions]).toEqual([manifest.version]);
});

it("what was not sent is sent when the server stops", async () => {
  const store = new TestStore();
  const { key: other } = await store.mintKey();
  const late = new Collector();
  const env = {
    OTEL_TRACES_EXPORTER: "otlp",
    OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: `${await late.listen()}/v1/traces`,
    OTEL_EXPORTER_OTLP_PROTOCOL: "http/json",
    OTEL_SERVICE_NAME: "till-3",
    OTEL_RESOURCE_ATTRIBUTES: "service.name=overruled,service.version=1.2.3-canary",
  };
  const stopping = await serve(store, { env });
  const { traceId, headers } = newTrace();
  await stopping.call(rest, "listInventory", {}, { key: other, headers });
  expect(await stopping.end()).toBe(0);
  expect((await late.spanOf(traceId)).parentSpanId).toBe(parentSpanId);
  expect([...late.services]).toEqual(["till-3"]);
  expect([...late.versions]).toEqual(["1.2.3-canary"]);
  late.close();
  store.remove();
});

it("a collector that never answers keeps the server for no longer than --shutdown-grace", async () => {
  const silent = createTcpServer().listen(0, "127.0.0.1");
  onTestFinished(() => void silent.close());
  await once(silent, "listening");
  const stopping = await serveTraced(silent, "--shutdown-grace", "1s");
  await call(stopping);
  const start = performance.now();
  expect(await stopping.end()).toBe(0);
  // The exporter itself would give up after 10 s.
  expect(performance.now() - start).toBeLessThan(8_000);
  expect(stopping.log).toContain('"msg":"the last traces are lost"');
});

it("a collector that fails is told of in the log, with its fields", async () => {
  const failing = createServer((_request, response) => void response.writeHead(400).end("no"));
  onTestFinished(() => void failing.close());
  await once(failing.listen(0, "127.0.0.1"), "listening");
  const stopping = await serveTraced(failing);
  await call(stopping);
  await until(async () => stopping.log.includes('"msg":"tracing: '), 5_000);
  expect(toldOf(stopping)).toMatchObject([
    { level: 50, msg: "tracing: Bad Request", err: { message: "Bad Request", stack: expect.any(String), code: "400" } },
  ]);
});

it("OTEL_LOG_LEVEL has nothing written but the ready line, and the log", async () => {
  const traced = await serveWith({ OTEL_EXPORTER_OTLP_ENDPOINT: "http://127.0.0.1:1", OTEL_LOG_LEVEL: "debug" });
  expect(traced.readyLine).toBe(`petstore listening on ${traced.origin}`);
  await until(async () => traced.log.includes('"msg":"the server has started"'), 5_000);
  expect(toldOf(traced)).toEqual([]);
});

it("an endpoint that is no address is told of, without the password in it", async () => {
  const traced = await serveWith({
    OTEL_EXPORTER_OTLP_ENDPOINT: "http://me:secret@host:port",
    OTEL_EXPORTER_OTLP_PROTOCOL: "http/json",
  });
  await until(async () => traced.log.includes('"msg":"tracing: '), 5_000);
  expect(traced.log).toContain("'http://********@host:port'");
  expect(traced.log).not.toContain("secret");
});

it("a server goes on without traces that cannot be set up", async () => {
  const traced = await serveWith({
    OTEL_EXPORTER_OTLP_ENDPOINT: "http://me:secret@host:port",
    OTEL_EXPORTER_OTLP_PROTOCOL: "grpc",
  });
  expect((await call(traced)).failure?.code).toBe("API_KEY_MISSING");
  await until(async () => traced.log.includes('"msg":"the server has started"'), 5_000);
  expect(toldOf(traced)).toMatchObject([{ level: 50, code: "ERR_INVALID_URL" }]);
  expect(traced.log).not.toContain("secret");
});

/** The lines of a server's log that are about tracing. Throws for a line that is not JSON. */
function toldOf(traced: TestServer): unknown[] {
  const lines = traced.log.trim().split("\n");
  return lines
    .map((line) => JSON.parse(line) as { readonly msg: string })
    .filter(({ msg }) => msg.startsWith("tracing: "));
}

/** Serves until the end of the test, with its traces sent to another server. */
function serveTraced(collecting: NetServer, ...flags: readonly string[]): Promise<TestServer> {
  const { port } = collecting.address() as AddressInfo;
  const env = {
    OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${port}`,
    OTEL_EXPORTER_OTLP_PROTOCOL: "http/json",
    OTEL_BSP_SCHEDULE_DELAY: "50",
  };
  return serveWith(env, ...flags);
}

/** Serves until the end of the test, with these variables. */
async function serveWith(env: Readonly<Record<string, string>>, ...flags: readonly string[]): Promise<TestServer> {
  const traced = await serve(new TestStore(), { env, flags });
  onTestFinished(() => traced.stop());
  return traced;
}

function call(traced: TestServer) {
  return traced.call(rest, "listInventory", {}, {});
}
