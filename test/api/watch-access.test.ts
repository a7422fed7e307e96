import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { createCertificate } from "../support/certificate.ts";
import type { Failure } from "../support/clients/client.ts";
import { rest } from "../support/clients/protocols.ts";
import { until } from "../support/deadline.ts";
import type { ErrorCode } from "../support/error-codes.ts";
import { expectErrorBody, expectFailure, expectLimits } from "../support/expectations.ts";
import { importFixture } from "../support/fixture.ts";
import { createHttp1Client, type HttpAnswer } from "../support/http.ts";
import { type MintedKey, serve, type TestServer, TestStore } from "../support/server.ts";
import { httpVersions, readUpTo, type Streamed, type StreamedRequest, sendStreamed } from "../support/streamed.ts";
import { type Watch, watchPath, watchProtocols } from "../support/watch.ts";
import { StockServer } from "./stock/stock-server.ts";

const page = "https://app.example";
const stock = new StockServer("--cors-origin", page);
const path = watchPath({});

const open: { close(): void }[] = [];

afterEach(() => {
  for (const opened of open.splice(0)) {
    opened.close();
  }
});

function opened(watch: Watch): Watch {
  open.push({ close: () => watch.stop() });
  return watch;
}

function streamed(version: (typeof httpVersions)[number], request: StreamedRequest, server = stock.server): Streamed {
  const sent = sendStreamed(version, server, request);
  open.push(sent);
  return sent;
}

/** A refusal over REST, read to its end. */
async function refused(version: (typeof httpVersions)[number], request: StreamedRequest) {
  const { status, headers, body } = await streamed(version, request).answer;
  return { status, headers, text: await readUpTo(body, "\n\n") };
}

async function mintRevoked(): Promise<MintedKey> {
  const key = await stock.server.store.mintKey();
  await stock.server.store.run("keys", "revoke", key.id);
  const ask = () => stock.server.call(rest, "getLimits", {}, { key: key.key });
  await until(async () => (await ask()).failure?.code === "API_KEY_REVOKED", 2_000);
  return key;
}

/** A key whose requests are used up, and then so many more refused. */
async function mintSpent(refusals: number): Promise<MintedKey> {
  const key = await stock.server.store.mintQuota(1, 100);
  for (let made = 0; made <= refusals; made += 1) {
    await stock.server.call(rest, "listInventory", { pageSize: 1 }, { key: key.key });
  }
  return key;
}

const bearer = ({ key }: MintedKey) => ({ authorization: `Bearer ${key}` });

/** How many requests a key has left this minute. */
async function remaining({ key }: MintedKey): Promise<number> {
  const { headers } = await stock.server.call(rest, "getLimits", {}, { key });
  return expectLimits(headers).remaining;
}

describe.each(watchProtocols)("over $name, a stream", (protocol) => {
  const watch = (headers: Readonly<Record<string, string>>, request = {}) =>
    opened(protocol.open(stock.server, request, headers));

  async function expectRefusal(stream: Watch, code: ErrorCode): Promise<Headers> {
    const failure = (await stream.ended) as Failure;
    const headers = await stream.headers;
    expectFailure({ failure, headers }, code);
    expectLimits(headers);
    expect(headers.get("x-request-id")).toMatch(/^[\w.-]+$/);
    expect(stream.told).toEqual([]);
    return headers;
  }

  it.each<[problem: string, code: ErrorCode, headers: () => Promise<Record<string, string>>, error: string]>([
    ["without a key", "API_KEY_MISSING", async () => ({}), ""],
    ["with another scheme", "API_KEY_MISSING", async () => ({ authorization: "Basic YTpi" }), ""],
    [
      "with an unknown key",
      "API_KEY_INVALID",
      async () => ({ authorization: "Bearer psk_no" }),
      ', error="invalid_token"',
    ],
    ["with a revoked key", "API_KEY_REVOKED", async () => bearer(await mintRevoked()), ', error="invalid_token"'],
    [
      "with a key that lacks the scope",
      "SCOPE_MISSING",
      async () => bearer(await stock.server.store.mintKey("--scope", "inventory:write")),
      ', error="insufficient_scope"',
    ],
  ])("%s is refused: %s", async (_problem, code, createHeaders, error) => {
    const stream = watch(await createHeaders());
    const headers = await expectRefusal(stream, code);
    expect(headers.get("www-authenticate") ?? stream.metadata.get("www-authenticate")).toBe(
      `Bearer realm="petstore"${error}`,
    );
  });

  it("needs no other scope than inventory:read", async () => {
    const reader = await stock.server.store.mintKey("--scope", "inventory:read");
    const stream = watch(bearer(reader));
    expectLimits(await stream.headers);
    await until(async () => stream.told.length > 0, 5_000);
  });

  it("past the limits of its key is refused with the wait, and past those with a ban", async () => {
    for (const [refusals, code, leastSeconds] of [
      [0, "RATE_LIMIT_EXCEEDED", 1],
      [20, "API_KEY_BANNED", 61],
    ] as const) {
      const stream = watch(bearer(await mintSpent(refusals)));
      const headers = await expectRefusal(stream, code);
      const wait = headers.get("retry-after") ?? stream.metadata.get("retry-after");
      expect(Number(wait)).toBeGreaterThanOrEqual(leastSeconds);
    }
  });

  it("past the streams and the limits of its key is refused for the limits, and leads to a ban", async () => {
    const key = await stock.server.store.mintQuota(32, 100);
    await Promise.all(Array.from({ length: 32 }, () => watch(bearer(key)).headers));
    const expectWait = async (code: ErrorCode) => {
      const stream = watch(bearer(key));
      const headers = await expectRefusal(stream, code);
      expect(Number(headers.get("retry-after") ?? stream.metadata.get("retry-after"))).toBeGreaterThan(0);
    };
    await expectWait("RATE_LIMIT_EXCEEDED");
    for (let refusals = 2; refusals < 32; refusals += 1) {
      await stock.server.call(rest, "listInventory", { pageSize: 1 }, { key: key.key });
    }
    await expectWait("API_KEY_BANNED");
  });

  it("is charged when it opens, however long it is, and so is one that is refused for its content or scope", async () => {
    const key = await stock.server.store.mintQuota(100, 1_000);
    const stream = watch(bearer(key));
    await stream.headers;
    expect(await remaining(key)).toBe(99);
    await stock.set(7n, 1n);
    await until(async () => stream.told.length > 2, 5_000);
    stream.stop();
    expect(await remaining(key)).toBe(99);
    expect((await watch(bearer(key), { after: "garbage" }).ended)?.code).toBe("INVALID_REQUEST");
    expect(await remaining(key)).toBe(98);
    const quota = ["--plan", "enterprise", "--per-minute", "100", "--per-day", "1000"];
    const writer = await stock.server.store.mintKey(...quota, "--scope", "inventory:write");
    expect((await watch(bearer(writer)).ended)?.code).toBe("SCOPE_MISSING");
    expect(await remaining(writer)).toBe(99);
  });

  it("carries the id of its request, or a new one", async () => {
    const named = watch({ ...bearer(stock.key), "x-request-id": "feed-17" });
    expect((await named.headers).get("x-request-id")).toBe("feed-17");
    const unnamed = watch({ ...bearer(stock.key), "x-request-id": "no good" });
    expect((await unnamed.headers).get("x-request-id")).toMatch(/^[\w.-]{10,}$/);
  });

  it("tells each change at once, also where its reader takes compressed answers", async () => {
    const codings = {
      "accept-encoding": "gzip, br",
      "grpc-accept-encoding": "gzip",
      "connect-accept-encoding": "gzip",
    };
    const { "accept-encoding": coding, ...ofRpc } = codings;
    const isRest = protocol.name.startsWith("REST");
    const after = (await stock.newestChange())?.cursor as string;
    const stream = watch({ ...bearer(stock.key), ...(isRest ? { "accept-encoding": coding } : ofRpc) }, { after });
    expect((await stream.headers).get("content-encoding")).toBeNull();
    // More than 1 KiB in one group, which would be compressed in an answer that is no stream.
    const changes = Array.from({ length: 10 }, (_, index) => ({
      petId: 7n,
      quantity: BigInt(index),
      reference: "r".repeat(255),
    }));
    await stock.get(rest, "batchUpdateInventory", { changes });
    await until(async () => stream.told.length === 10, 1_000);
    await stock.set(7n, 77n);
    await until(async () => stream.told.length === 11, 1_000);
  });
});

describe("over TLS", () => {
  let secure: TestServer;
  let key: MintedKey;

  beforeAll(async () => {
    const store = new TestStore();
    const { certFile, keyFile, pem } = createCertificate(store.directory);
    await store.prepare();
    await importFixture(store.db);
    key = await store.mintQuota(1_000, 10_000);
    secure = await serve(store, { flags: ["--tls-cert", certFile, "--tls-key", keyFile], ca: pem });
  });

  afterAll(() => secure?.stop());

  it.each(watchProtocols)("$name tells what was, and what comes", async (protocol) => {
    const stream = opened(protocol.open(secure, { petId: [7n] }, bearer(key)));
    expectLimits(await stream.headers);
    await until(async () => stream.told.length > 0, 5_000);
    const known = stream.told.length;
    const http = createHttp1Client(secure);
    const headers = { ...bearer(key), "content-type": "application/json" };
    await http.send({ method: "PATCH", path: "/v1/inventory/7", headers, body: '{"quantity": 31}' });
    http.close();
    await until(async () => stream.told.length > known, 5_000);
    expect(stream.told.at(-1)).toMatchObject({ petId: 7n, after: 31n, kind: "set" });
  });
});

describe.each(httpVersions)("over REST by %s", (version) => {
  const ask = (request: Partial<StreamedRequest>) =>
    refused(version, { path, ...request, headers: { ...bearer(stock.key), ...request.headers } });

  it("two Authorization headers are no key", async () => {
    const authorization = [`Bearer ${stock.key.key}`, `Bearer ${stock.key.key}`];
    expectErrorBody((await refused(version, { path, headers: { authorization } })) as HttpAnswer, "API_KEY_INVALID");
  });

  it.each([
    [undefined, "text/event-stream"],
    ["*/*", "text/event-stream"],
    ["text/*", "text/event-stream"],
    ["text/event-stream", "text/event-stream"],
    ["text/html, */*;q=0.1", "text/event-stream"],
    ["application/x-ndjson;q=0.5, text/event-stream", "text/event-stream"],
    ["application/x-ndjson", "application/x-ndjson"],
    ["application/*", "application/x-ndjson"],
    ["text/event-stream;q=0.5, application/x-ndjson", "application/x-ndjson"],
    ["text/event-stream;q=0, */*;q=0.1", "application/x-ndjson"],
  ])("Accept: %s is answered with %s", async (accept, type) => {
    const headers = { ...bearer(stock.key), ...(accept === undefined ? {} : { accept }) };
    const { status, headers: answered, body } = await streamed(version, { path, headers }).answer;
    expect([status, answered.get("content-type")]).toEqual([200, type]);
    const isEvents = type === "text/event-stream";
    expect(await readUpTo(body, isEvents ? "\n\n" : "\n")).toMatch(isEvents ? /^id: .*\nevent: stock-change\n/ : /^{/);
  });

  it.each(["image/png", "application/json", "text/event-stream;q=0", "*/*;q=0", "text/html, application/json;q=0.9"])(
    "Accept: %s is refused",
    async (accept) => {
      const answer = await ask({ headers: { accept } });
      expectErrorBody(answer as HttpAnswer, "NOT_ACCEPTABLE");
      expectLimits(answer.headers);
      expect(JSON.parse(answer.text).message).toContain("text/event-stream, application/x-ndjson");
    },
  );

  it("what is wrong with the key is told before what is wrong with Accept", async () => {
    const answer = await refused(version, { path, headers: { accept: "image/png" } });
    expectErrorBody(answer as HttpAnswer, "API_KEY_MISSING");
  });

  it("the answer is kept by nobody, and gathered by no proxy", async () => {
    const { headers } = await streamed(version, { path, headers: bearer(stock.key) }).answer;
    expect(headers.get("cache-control")).toBe("no-store");
    expect(headers.get("x-accel-buffering")).toBe("no");
    expect(headers.get("content-length")).toBeNull();
    expect(headers.get("etag")).toBeNull();
  });

  it("HEAD is refused without a body, as a stream has no end; it is charged", async () => {
    const key = await stock.server.store.mintQuota(100, 1_000);
    const { status, headers, text } = await ask({ method: "HEAD", headers: bearer(key) });
    expect([status, headers.get("allow"), text]).toEqual([405, "GET, OPTIONS", ""]);
    expect(expectLimits(headers).remaining).toBe(99);
  });

  it("OPTIONS tells the methods", async () => {
    const { status, headers } = await ask({ method: "OPTIONS" });
    expect([status, headers.get("allow")]).toEqual([204, "GET, OPTIONS"]);
    expectLimits(headers);
  });

  it.each([
    ["REST", path, { "access-control-request-headers": "authorization,last-event-id" }, "GET"],
    [
      "Connect",
      "/petstore.v1.InventoryService/WatchStockChanges",
      { "access-control-request-headers": "authorization,connect-protocol-version,content-type" },
      "POST",
    ],
  ])("a page may open a stream over %s: its preflight needs no key", async (_name, preflightPath, wanted, method) => {
    const headers = { origin: page, "access-control-request-method": method, ...wanted };
    const { status, headers: answered } = await refused(version, { method: "OPTIONS", path: preflightPath, headers });
    expect(status).toBe(204);
    expect(answered.get("access-control-allow-origin")).toBe(page);
    expect(answered.get("access-control-allow-methods")).toContain(method);
    expect(answered.get("access-control-allow-headers")).toBe(wanted["access-control-request-headers"]);
    expectLimits(answered);
  });

  it("a page may read a stream, its limits and its refusals", async () => {
    const { headers } = await streamed(version, { path, headers: { ...bearer(stock.key), origin: page } }).answer;
    const refusal = await refused(version, { path, headers: { origin: page } });
    expectErrorBody(refusal as HttpAnswer, "API_KEY_MISSING");
    for (const answered of [headers, refusal.headers]) {
      expect(answered.get("access-control-allow-origin")).toBe(page);
      expect(answered.get("vary")).toContain("Origin");
      const exposed = answered.get("access-control-expose-headers")?.split(", ");
      expect(exposed).toEqual(
        expect.arrayContaining(["X-RateLimit-Remaining", "RateLimit", "Retry-After", "X-Request-Id"]),
      );
    }
  });

  it("a page of another origin gets neither", async () => {
    const origin = "https://other.example";
    const { headers } = await streamed(version, { path, headers: { ...bearer(stock.key), origin } }).answer;
    const preflight = { origin, "access-control-request-method": "GET" };
    const answered = await refused(version, { method: "OPTIONS", path, headers: preflight });
    expect(answered.status).toBe(401);
    for (const each of [headers, answered.headers]) {
      expect([...each.keys()].filter((name) => name.startsWith("access-control-"))).toEqual([]);
    }
  });
});
