import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { brotliDecompressSync } from "node:zlib";
import Database from "better-sqlite3";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { issueCursor } from "../../../src/domain/history.ts";
import type { Target } from "../../support/clients/client.ts";
import { until } from "../../support/deadline.ts";
import type { ErrorCode } from "../../support/error-codes.ts";
import { beyondDouble, fixtureHolds, importFixture, int64Max, int64Min } from "../../support/fixture.ts";
import {
  createHttp1Client,
  createHttp2Client,
  type HttpAnswer,
  type HttpClient,
  type HttpRequest,
} from "../../support/http.ts";
import { openSocket, readAnswer } from "../../support/raw.ts";
import { serve, startServer, type TestServer, TestStore } from "../../support/server.ts";
import { type HttpVersion, httpVersions, readUpTo, sendStreamed } from "../../support/streamed.ts";
import { expectDescribed, expectHeaders, expectResponse } from "./answer.ts";
import { type Json, OpenApi } from "./openapi.ts";

const openApi = new OpenApi();

const json = { "content-type": "application/json" };

/**
 * The operations, each with a request that succeeds, a change that makes it invalid, and an insufficient scope. An
 * operation that is free of charge needs no scope.
 */
const operations = [
  {
    route: "GET /inventory",
    request: { method: "GET", path: "/v1/inventory" },
    invalid: { path: "/v1/inventory?pageSize=0" },
    otherScope: "orders:read",
  },
  {
    route: "PATCH /inventory/{petId}",
    request: { method: "PATCH", path: "/v1/inventory/7", headers: json, body: '{"quantity":3}' },
    invalid: { body: '{"quantity":"3"}' },
    otherScope: "inventory:read",
  },
  {
    route: "GET /inventory/{petId}",
    request: { method: "GET", path: "/v1/inventory/7" },
    invalid: { path: "/v1/inventory/x" },
    otherScope: "orders:read",
  },
  {
    route: "GET /inventory/{petId}/availability",
    request: { method: "GET", path: "/v1/inventory/7/availability" },
    invalid: { path: "/v1/inventory/x/availability" },
    otherScope: "orders:read",
  },
  {
    route: "POST /inventory/{petId}:adjust",
    request: { method: "POST", path: "/v1/inventory/3:adjust", headers: json, body: '{"delta":1}' },
    invalid: { body: '{"delta":0}' },
    otherScope: "inventory:read",
  },
  {
    route: "POST /inventory:batch",
    request: {
      method: "POST",
      path: "/v1/inventory:batch",
      headers: json,
      body: '{"changes":[{"petId":3,"quantity":5},{"petId":404404,"delta":1}]}',
    },
    invalid: { body: '{"changes":[{"petId":3}]}' },
    otherScope: "inventory:read",
  },
  {
    route: "GET /inventory/changes",
    request: { method: "GET", path: "/v1/inventory/changes" },
    invalid: { path: "/v1/inventory/changes?pageSize=0" },
    otherScope: "orders:read",
  },
  {
    route: "GET /inventory/{pet}/changes",
    request: { method: "GET", path: "/v1/inventory/7/changes" },
    invalid: { path: "/v1/inventory/7/changes?after=x" },
    otherScope: "orders:read",
  },
  {
    route: "GET /inventory/changes:watch",
    request: { method: "GET", path: "/v1/inventory/changes:watch" },
    invalid: { path: "/v1/inventory/changes:watch?after=x" },
    otherScope: "orders:read",
    isStream: true,
  },
  {
    route: "POST /holds",
    request: { method: "POST", path: "/v1/holds", headers: json, body: `{"petId":${beyondDouble},"quantity":1}` },
    invalid: { body: '{"petId":7,"quantity":1,"ttl":900}' },
    otherScope: "inventory:read",
    status: 201,
  },
  {
    route: "GET /holds",
    request: { method: "GET", path: "/v1/holds" },
    invalid: { path: "/v1/holds?pageSize=0" },
    otherScope: "orders:read",
  },
  {
    route: "GET /holds/{holdId}",
    request: { method: "GET", path: `/v1/holds/${fixtureHolds.held}` },
    invalid: { headers: { host: "pets:99999" } },
    otherScope: "orders:read",
  },
  {
    route: "POST /holds/{holdId}:commit",
    request: { method: "POST", path: `/v1/holds/${fixtureHolds.held}:commit`, headers: json, body: "{}" },
    invalid: { body: "[]" },
    otherScope: "inventory:read",
  },
  {
    route: "POST /holds/{holdId}:release",
    request: { method: "POST", path: `/v1/holds/${fixtureHolds.released}:release`, headers: json, body: "{}" },
    invalid: { body: "[]" },
    otherScope: "inventory:read",
  },
  {
    route: "GET /pets/{petId}",
    request: { method: "GET", path: "/v1/pets/7" },
    invalid: { path: "/v1/pets/x" },
    otherScope: "inventory:read",
  },
  {
    route: "GET /store/orders",
    request: { method: "GET", path: "/v1/store/orders" },
    invalid: { path: "/v1/store/orders?status=lost" },
    otherScope: "inventory:read",
  },
  {
    route: "GET /limits",
    request: { method: "GET", path: "/v1/limits" },
    invalid: { headers: { host: "pets:99999" } },
    isFree: true,
  },
] as const satisfies readonly Sample[];

interface Sample {
  readonly route: string;
  readonly request: HttpRequest;
  readonly invalid: Partial<HttpRequest>;
  readonly otherScope?: KeyName;
  readonly isFree?: true;
  readonly isStream?: true;
  /** Of a success; 200 by default. */
  readonly status?: number;
}

const [list, update, entry, availability, adjust, batch, changes, changesOfPet, watch, ...others] = operations;
const [create, holds, hold, commit, release, pet, orders, limits] = others;
const samples: readonly Sample[] = operations;
const reads = samples.filter(({ request, isStream }) => request.method === "GET" && isStream === undefined);
const writes: readonly Sample[] = [update, adjust, batch, create, commit, release];

/** The described answers that have occurred, such as `GET /inventory 200` or `GET /inventory 401 API_KEY_MISSING`. */
const met = new Set<string>();

/** Expects an answer with a status or a code, as the operation describes it. */
function expectAnswer({ route }: Sample, answer: Answer, expected: number | ErrorCode): void {
  const { code } = answer.status < 400 ? {} : JSON.parse(answer.text);
  expect(code ?? answer.status).toBe(expected);
  expectDescribed(openApi, route, answer);
  met.add([route, answer.status, code].filter((part) => part !== undefined).join(" "));
}

type Answer = Pick<HttpAnswer, "status" | "headers" | "text">;

/** Sends a request. Of a stream that is opened, the first item is the answer. */
async function sendOver(version: HttpVersion, request: HttpRequest): Promise<HttpAnswer> {
  const isStream = request.method === "GET" && request.path.startsWith(watch.request.path);
  return isStream ? await openStream(version, server, request) : await clients[version].send(request);
}

async function openStream(version: HttpVersion, target: Target, request: HttpRequest): Promise<HttpAnswer> {
  const { answer, close } = sendStreamed(version, target, request);
  const { status, headers, body } = await answer;
  const isLines = headers.get("content-type") === "application/x-ndjson";
  const text = await readUpTo(body, isLines ? "\n" : "\n\n");
  close();
  return { status, headers, text, bytes: Buffer.from(text), trailers: new Headers() };
}

/** A filter of each list. */
const filters: Readonly<Record<string, string>> = {
  [list.route]: "status=sold&status=pending",
  [orders.route]: "status=placed",
  [holds.route]: "state=released&petId=7",
  [changes.route]: "newestFirst=true&petId=7&petId=8&crossing=3",
  [changesOfPet.route]: "newestFirst=true",
};

/** A cursor of another store. */
const foreignCursor = issueCursor("000000000000", 1n);

function atomic(change: object): Partial<HttpRequest> {
  return { body: JSON.stringify({ changes: [change], atomic: true }) };
}

/** All described answers, in the same form. */
function described(): string[] {
  return [...openApi.operations].flatMap(([route, operation]) => {
    const responses = openApi.within(operation, "responses");
    return Object.keys(responses.value).flatMap((status) => {
      const content = openApi.within(responses, status).value.content as
        | Record<string, { examples?: Json }>
        | undefined;
      const codes = Object.keys(content?.["application/json"]?.examples ?? {});
      return codes.length === 0 ? [`${route} ${status}`] : codes.map((code) => `${route} ${status} ${code}`);
    });
  });
}

const keyNames = ["good", "expired", "revoked", "spent", "banned", "inventory:read", "orders:read"] as const;
type KeyName = (typeof keyNames)[number];

let server: TestServer;
let keys: Record<KeyName, string>;
let clients: Record<HttpVersion, HttpClient>;

beforeAll(async () => {
  server = await startServer("--request-timeout", "1s", "--trusted-proxy", "127.0.0.1/32");
  clients = { "HTTP/1.1": createHttp1Client(server), "HTTP/2": createHttp2Client(server) };
  keys = await mintKeys(server.store);
});

afterAll(async () => {
  for (const client of Object.values(clients ?? {})) {
    client.close();
  }
  await server?.stop();
});

async function mintKeys(store: TestStore): Promise<typeof keys> {
  const [good, expired, revoked, spent, banned, reader, ordersReader] = await Promise.all([
    store.mintQuota(1_000_000, 1_000_000),
    store.mintKey("--expires-in", "1s"),
    store.mintKey(),
    store.mintQuota(1_000, 1),
    store.mintQuota(1, 1_000),
    store.mintKey("--scope", "inventory:read"),
    store.mintKey("--scope", "orders:read"),
  ]);
  await store.run("keys", "revoke", revoked.id);
  const ask = async (key: string) => (await clients["HTTP/1.1"].send(withKey(list.request, key))).status;
  await ask(spent.key);
  for (let made = 0; made < 21; made++) {
    await ask(banned.key);
  }
  await until(async () => (await ask(expired.key)) === 401 && (await ask(revoked.key)) === 401, 5_000);
  const secrets = [good, expired, revoked, spent, banned, reader, ordersReader].map(({ key }) => key);
  return Object.fromEntries(keyNames.map((name, index) => [name, secrets[index]])) as typeof keys;
}

function withKey(request: HttpRequest, key: string, over: Partial<HttpRequest> = {}): HttpRequest {
  return { ...request, ...over, headers: { ...request.headers, ...over.headers, authorization: `Bearer ${key}` } };
}

describe.each(httpVersions)("over %s, as it is described,", (version) => {
  const send = (request: HttpRequest) => sendOver(version, request);

  describe.each(samples)("$route", (operation) => {
    const { request, invalid, otherScope } = operation;

    it("succeeds", async () => {
      expectAnswer(operation, await send(withKey(request, keys.good)), operation.status ?? 200);
    });

    it.each<[ErrorCode, () => HttpRequest]>([
      ["INVALID_REQUEST", () => withKey(request, keys.good, invalid)],
      ["API_KEY_MISSING", () => request],
      ["API_KEY_INVALID", () => withKey(request, "psk_wrong")],
      ["API_KEY_EXPIRED", () => withKey(request, keys.expired)],
      ["API_KEY_REVOKED", () => withKey(request, keys.revoked)],
      ["METHOD_NOT_ALLOWED", () => withKey(request, keys.good, { method: "DELETE", body: undefined })],
    ])("is refused: %s", async (code, refused) => {
      expectAnswer(operation, await send(refused()), code);
    });

    it.runIf(otherScope !== undefined)("is refused: SCOPE_MISSING", async () => {
      expectAnswer(operation, await send(withKey(request, keys[otherScope as KeyName])), "SCOPE_MISSING");
    });

    it.skipIf(operation.isFree).each([
      ["RATE_LIMIT_EXCEEDED", "spent"],
      ["API_KEY_BANNED", "banned"],
    ] as const)("is refused: %s", async (code, name) => {
      expectAnswer(operation, await send(withKey(request, keys[name])), code);
    });

    it.runIf(operation.isFree)("refuses strangers past their limit", async () => {
      const headers = { "x-forwarded-for": version === "HTTP/2" ? "203.0.113.2" : "203.0.113.1" };
      for (let made = 0; made < 300; made++) {
        await send({ ...request, headers });
      }
      expectAnswer(operation, await send({ ...request, headers }), "RATE_LIMIT_EXCEEDED");
    });

    it.runIf(operation.isFree).each(["spent", "banned"] as const)("answers a key that is %s", async (name) => {
      expectAnswer(operation, await send(withKey(request, keys[name])), 200);
    });

    it("tells its methods", async () => {
      const answer = await send(withKey(request, keys.good, { method: "OPTIONS", body: undefined }));
      expect(answer.status).toBe(204);
      expectResponse(openApi, openApi.at("x-options"), answer);
    });
  });

  it.each(reads)("HEAD has the headers of $route", async ({ route, request }) => {
    const answer = await send(withKey(request, keys.good, { method: "HEAD" }));
    expect(answer.status).toBe(200);
    expectHeaders(openApi, openApi.at("paths", route.slice("GET ".length), "get", "responses", "200"), answer);
    expect(answer.text).toBe("");
  });

  it.each([list, orders, holds, changes, changesOfPet])("$route comes in pages, and filtered", async (operation) => {
    const path = `${operation.request.path}?pageSize=1`;
    const page = await send(withKey(operation.request, keys.good, { path }));
    expectAnswer(operation, page, 200);
    expect(page.headers.get("link")).toContain('rel="next"');
    const filter = filters[operation.route];
    expectAnswer(operation, await send(withKey(operation.request, keys.good, { path: `${path}&${filter}` })), 200);
  });

  it.each([list, orders, holds, changes, changesOfPet])(
    "$route refuses a page token of its own making",
    async (operation) => {
      const path = `${operation.request.path}?pageToken=x`;
      expectAnswer(operation, await send(withKey(operation.request, keys.good, { path })), "INVALID_PAGE_TOKEN");
    },
  );

  it("a stream is of lines, where these are asked for", async () => {
    const request = withKey(watch.request, keys.good, { headers: { accept: "application/x-ndjson" } });
    expectAnswer(watch, await send(request), 200);
  });

  it("a stream past the most of its key is refused: TOO_MANY_STREAMS", async () => {
    const { key } = await server.store.mintKey();
    const open = Array.from({ length: 32 }, () => sendStreamed(version, server, withKey(watch.request, key)));
    await Promise.all(open.map(({ answer }) => answer));
    expectAnswer(watch, await send(withKey(watch.request, key)), "TOO_MANY_STREAMS");
    for (const { close } of open) {
      close();
    }
  });

  const firstPage = { ...list, request: { ...list.request, path: "/v1/inventory?pageSize=1" } };

  it.each([list, firstPage, entry])("$request.path is 304 where it is unchanged", async (operation) => {
    const etag = (await send(withKey(operation.request, keys.good))).headers.get("etag") ?? "";
    const conditional = withKey(operation.request, keys.good, { headers: { "if-none-match": etag } });
    expectAnswer(operation, await send(conditional), 304);
  });

  it.each<[ErrorCode, Sample, Partial<HttpRequest>]>([
    ["PET_NOT_FOUND", pet, { path: "/v1/pets/404404" }],
    ["PET_NOT_FOUND", update, { path: "/v1/inventory/404404" }],
    ["PET_NOT_FOUND", entry, { path: "/v1/inventory/404404" }],
    ["PET_NOT_FOUND", availability, { path: "/v1/inventory/404404/availability" }],
    ["PET_NOT_FOUND", adjust, { path: "/v1/inventory/404404:adjust" }],
    ["PET_NOT_FOUND", batch, atomic({ petId: 404_404, quantity: 1 })],
    ["PET_NOT_FOUND", changes, { path: "/v1/inventory/changes?petId=404404" }],
    ["PET_NOT_FOUND", changesOfPet, { path: "/v1/inventory/404404/changes" }],
    ["PET_NOT_FOUND", create, { body: '{"petId":404404,"quantity":1}' }],
    ["HOLD_NOT_FOUND", hold, { path: "/v1/holds/none" }],
    ["HOLD_NOT_FOUND", commit, { path: "/v1/holds/none:commit" }],
    ["HOLD_NOT_FOUND", release, { path: "/v1/holds/none:release" }],
    ["PRECONDITION_FAILED", update, { headers: { "if-match": '"none"' } }],
    ["PRECONDITION_FAILED", adjust, { headers: { "if-match": '"none"' } }],
    ["PRECONDITION_FAILED", batch, atomic({ petId: 3, quantity: 1, etag: '"none"' })],
    ["INSUFFICIENT_STOCK", adjust, { body: '{"delta":-1000}' }],
    ["INSUFFICIENT_STOCK", batch, atomic({ petId: 3, delta: -1_000 })],
    ["INSUFFICIENT_STOCK", create, { body: '{"petId":3,"quantity":1000}' }],
    ["QUANTITY_OUT_OF_RANGE", adjust, { path: `/v1/inventory/${int64Max}:adjust` }],
    ["QUANTITY_OUT_OF_RANGE", batch, { body: `{"changes":[{"petId":${int64Max},"delta":1}],"atomic":true}` }],
    ["HOLD_ENDED", commit, { path: `/v1/holds/${fixtureHolds.released}:commit` }],
    ["CURSOR_EXPIRED", changes, { path: `/v1/inventory/changes?after=${foreignCursor}` }],
    ["CURSOR_EXPIRED", changesOfPet, { path: `/v1/inventory/7/changes?after=${foreignCursor}` }],
    ["PET_NOT_FOUND", watch, { path: `${watch.request.path}?petId=404404` }],
    ["CURSOR_EXPIRED", watch, { path: `${watch.request.path}?after=${foreignCursor}` }],
    ["NOT_ACCEPTABLE", watch, { headers: { accept: "image/png" } }],
    ...writes.flatMap((operation): [ErrorCode, Sample, Partial<HttpRequest>][] => [
      ["BODY_TOO_LARGE", operation, { body: " ".repeat(1_048_577) }],
      ["MEDIA_TYPE_UNSUPPORTED", operation, { headers: { "content-type": "text/plain" } }],
      ["INVALID_REQUEST", operation, { headers: { "idempotency-key": "two words" } }],
    ]),
  ])("%s: $route", async (code, operation, over) => {
    expectAnswer(operation, await send(withKey(operation.request, keys.good, over)), code);
  });

  it("a hold that was committed below its stock, and released then", async () => {
    const { text } = await send(withKey(create.request, keys.good, { body: '{"petId":4,"quantity":1}' }));
    const { holdId } = JSON.parse(text);
    const end = (operation: Sample, verb: string) =>
      send(withKey(operation.request, keys.good, { path: `/v1/holds/${holdId}:${verb}` }));
    const setStock = (body: string) =>
      send(withKey(update.request, keys.good, { path: "/v1/inventory/4", body: `{"quantity":${body}}` }));
    await setStock(String(int64Min));
    expectAnswer(commit, await end(commit, "commit"), "QUANTITY_OUT_OF_RANGE");
    await setStock("4");
    expectAnswer(commit, await end(commit, "commit"), 200);
    expectAnswer(release, await end(release, "release"), "HOLD_ENDED");
  });

  it.each(writes)("$route is replayed, and refuses other content under its key", async (operation) => {
    const over = { headers: { "idempotency-key": `${version}-${operation.route.replaceAll(" ", "")}` } };
    await send(withKey(operation.request, keys.good, over));
    const replayed = await send(withKey(operation.request, keys.good, over));
    expectAnswer(operation, replayed, operation.status ?? 200);
    expect(replayed.headers.get("idempotency-replayed")).toBe("true");
    const body = operation.request.body
      ?.toString()
      .replace(/}$/, `${operation.request.body === "{}" ? "" : ","}"reference":"x","atomic":true}`);
    const other = await send(withKey(operation.request, keys.good, { ...over, body }));
    expectAnswer(operation, other, "IDEMPOTENCY_KEY_REUSED");
  });

  it("an unknown path is ROUTE_NOT_FOUND", async () => {
    const answer = await send(withKey(list.request, keys.good, { path: "/v1/inventory/" }));
    expect(answer.status).toBe(404);
    expectResponse(openApi, openApi.at("x-unknown-path"), answer);
  });
});

describe("what the HTTP parser refuses, as it is described,", () => {
  const line = ({ method, path }: HttpRequest) => `${method} ${path} HTTP/1.1\r\nHost: pets\r\n`;

  it.each(operations)("$route: headers that are too large", async (operation) => {
    const answer = await sendBytes(`${line(operation.request)}X: ${"a".repeat(100_000)}\r\n\r\n`);
    expectAnswer(operation, answer, "HEADERS_TOO_LARGE");
  });

  it.concurrent.each(operations)("$route: a request that does not arrive in time", async (operation) => {
    expectAnswer(operation, await sendBytes(line(operation.request)), "REQUEST_TIMEOUT");
  });

  it.concurrent.each(writes)("$route: a body that does not arrive in time", async (operation) => {
    const head = `${line(operation.request)}Authorization: Bearer ${keys.good}\r\nContent-Length: 9\r\n\r\n{`;
    expectAnswer(operation, await sendBytes(head), "REQUEST_TIMEOUT");
  });

  async function sendBytes(bytes: string): Promise<Answer> {
    const socket = openSocket(server);
    socket.write(bytes);
    return readAnswer(socket, 20_000).finally(() => socket.destroy());
  }
});

const counted = operations.filter((operation) => operation !== limits);

// A table cannot be read from the pages of an index, nor one without row ids from those of another table.
const breakTables = "PRAGMA writable_schema = 1; UPDATE sqlite_schema AS broken SET rootpage =";

/** A server on a store that was damaged while the server ran. */
describe.each<[code: ErrorCode, failing: readonly Sample[], spoil: string]>([
  [
    "INTERNAL",
    counted,
    ["pets", "stock", "orders", "holds", "changes"]
      .map((name) => `ALTER TABLE ${name} RENAME TO hidden_${name};`)
      .join(""),
  ],
  ["INTERNAL", [limits], "ALTER TABLE usage RENAME TO hidden_usage"],
  [
    "UNAVAILABLE",
    counted,
    `${breakTables}
       (SELECT rootpage FROM sqlite_schema WHERE name =
          CASE broken.name WHEN 'orders' THEN 'orders_by_status' WHEN 'holds' THEN 'holds_by_pet'
            WHEN 'changes' THEN 'change_marks' ELSE 'stock_by_status' END)
       WHERE name IN ('pets', 'stock', 'orders', 'holds', 'changes')`,
  ],
  [
    "UNAVAILABLE",
    [limits],
    `${breakTables} (SELECT rootpage FROM sqlite_schema WHERE name = 'pets') WHERE name = 'usage'`,
  ],
])("when the store fails, as it is described, with %s", (code, samples, spoil) => {
  let failing: TestServer;
  let key: string;
  let http: HttpClient;

  beforeAll(async () => {
    const store = new TestStore();
    await importFixture(store.db);
    key = (await store.mintQuota(1_000_000, 1_000_000)).key;
    failing = await serve(store, { flags: ["--log-level", "silent"] });
    http = createHttp1Client(failing);
    const database = new Database(store.db).unsafeMode();
    database.exec(spoil);
    database.pragma(`schema_version = ${Number(database.pragma("schema_version", { simple: true })) + 1}`);
    database.close();
  });

  afterAll(async () => {
    http?.close();
    await failing?.stop();
  });

  it.each(samples)("$route", async (operation) => {
    const request = withKey(operation.request, key);
    const send = () => (operation.isStream ? openStream("HTTP/1.1", failing, request) : http.send(request));
    // The cache is valid until the server sees that its store has changed.
    await until(async () => (await send()).status >= 500, 5_000);
    expectAnswer(operation, await send(), code);
  });
});

it("ends past its sunset as it is described, where that is enforced", async () => {
  const store = new TestStore();
  await importFixture(store.db);
  const { key } = await store.mintKey();
  const clock = join(store.directory, "clock.mjs");
  writeFileSync(clock, `const now = Date.now; Date.now = () => now() + ${Date.parse("2027-06-01") - Date.now()};`);
  const flags = ["--enforce-sunset"];
  const late = await serve(store, { flags, env: { NODE_OPTIONS: `--import=file://${clock}` } });
  const http = createHttp1Client(late);
  try {
    expectAnswer(pet, await http.send(withKey(pet.request, key)), "ENDPOINT_SUNSET");
  } finally {
    http.close();
    await late.stop();
  }
});

it("compresses a long list as it is described", async () => {
  const rows = Array.from({ length: 50 }, (_, index) => `${1_000 + index},Pet,cat,,,available,1`);
  const file = join(server.store.directory, "more.csv");
  writeFileSync(file, ["id,name,category,photoUrls,tags,status,quantity", ...rows, ""].join("\n"));
  await server.store.run("import", file);
  const request = withKey(list.request, keys.good, { headers: { "accept-encoding": "br" } });
  const ask = () => clients["HTTP/1.1"].send(request);
  await until(async () => (await ask()).headers.has("content-encoding"), 5_000);
  const answer = await ask();
  expectAnswer(list, { ...answer, text: brotliDecompressSync(answer.bytes).toString() }, 200);
});

it("has been held to every status and code of the description", () => {
  expect([...met].toSorted()).toEqual(described().toSorted());
});
