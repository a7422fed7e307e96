import { once } from "node:events";
import { readFileSync, writeFileSync } from "node:fs";
import { connect } from "node:http2";
import { join } from "node:path";
import { brotliDecompressSync, gunzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { protocols, rest } from "../support/clients/protocols.ts";
import { until } from "../support/deadline.ts";
import { expectErrorBody, expectSuccess } from "../support/expectations.ts";
import { pets, toCsv } from "../support/fixture.ts";
import { createHttp1Client, createHttp2Client, type HttpClient } from "../support/http.ts";
import { isOnPostgres, isSeveral, type MintedKey, serve, type TestServer, TestStore } from "../support/server.ts";

/**
 * More than one run of ready bytes, so that the list is streamed. Interceptors that clone have no ready bytes, and take
 * their time for each entry.
 */
const count = process.env.TEST_INTERCEPTORS === undefined ? 66_000 : 2_000;

/** The first and last entries of the list, of its first pages and of its first run. */
const borders = [0, 511, 512, 65_535, 65_536, count - 1].filter((index) => index < count);

let server: TestServer;
let key: MintedKey;
let http: HttpClient;

beforeAll(async () => {
  const store = new TestStore();
  const file = join(store.directory, "many.csv");
  writeFileSync(file, toCsv(Array.from({ length: count }, (_, index) => petOf(index))));
  await store.run("import", file);
  key = await store.mintQuota(1_000_000, 1_000_000);
  server = await serve(store);
  http = createHttp1Client(server);
});

afterAll(async () => {
  http?.close();
  await server?.stop();
});

function petOf(index: number) {
  return { ...pets[1], id: BigInt(index), quantity: 0n, status: index % 2 === 0 ? "available" : "sold" };
}

function get(path: string, { method = "GET", headers = {}, client = http } = {}) {
  return client.send({ method, path, headers: { authorization: `Bearer ${key.key}`, ...headers } });
}

async function list(path = "/v1/inventory"): Promise<{ petId: number; quantity: number; status: string }[]> {
  return JSON.parse((await get(path)).text);
}

/** The entries of some pets in the text of a list, of which nothing else is parsed. */
function entriesIn(text: string, petIds: readonly number[]): { petId: number; quantity: number; status: string }[] {
  return petIds.map((petId) => {
    const start = text.indexOf(`{"petId":${petId},`);
    return JSON.parse(text.slice(start, text.indexOf("}", start) + 1));
  });
}

const everyList = ["/v1/inventory", "/v1/inventory?pageSize=5", "/v1/inventory?status=sold", "/v1/inventory?status=x"];
const goodLists = everyList.slice(0, -1);

describe("a list without a page size", () => {
  it("has every entry once, by ascending id", async () => {
    const items = await list();
    expect(items.map(({ petId }) => petId)).toEqual(Array.from({ length: count }, (_, index) => index));
  });

  it("has every entry that its filter takes", async () => {
    const ids = (await list("/v1/inventory?status=sold")).map(({ petId }) => petId);
    expect(ids).toEqual(Array.from({ length: count / 2 }, (_, index) => 2 * index + 1));
    expect(await list("/v1/inventory?status=sold&status=available")).toHaveLength(count);
    expect(await list("/v1/inventory?status=pending")).toEqual([]);
  });

  it("has all that remains after a page", async () => {
    const link = (await get("/v1/inventory?pageSize=10")).headers.get("link") ?? "";
    const token = /pageToken=([^&>]*)/.exec(link)?.[1];
    const items = await list(`/v1/inventory?pageToken=${token}`);
    expect([items.length, items[0]?.petId, items.at(-1)?.petId]).toEqual([count - 10, 10, count - 1]);
  });
});

it.each(protocols)("an update over $name is in every list that is asked for after its answer", async (protocol) => {
  // Where an entry stands is nothing to the protocol.
  const petIds = protocol === rest ? borders : borders.slice(-1);
  const { headers, text } = await get("/v1/inventory");
  const former = headers.get("etag") ?? "";
  for (const entry of entriesIn(text, petIds)) {
    const quantity = entry.quantity + 1;
    const input = { petId: BigInt(entry.petId), update: { quantity: BigInt(quantity) } };
    expectSuccess(await server.call(protocol, "updateInventory", input, { key: key.key }));
    const list = await get("/v1/inventory", { headers: { "if-none-match": former } });
    expect(entriesIn(list.text, [entry.petId])).toEqual([{ ...entry, quantity }]);
  }
  for (const path of goodLists.slice(1)) {
    const answer = await get(path, { headers: { "if-none-match": former } });
    expect([answer.status, answer.headers.get("etag") === former], path).toEqual([200, false]);
  }
});

it("keeps up with updates and lists that run side by side", async () => {
  let isDone = false;
  const acknowledged = new Map<number, number>();
  async function update(start: number): Promise<void> {
    for (let round = 1; round <= 30; round += 1) {
      const petId = (start * 997 + round * 8_191) % count;
      const quantity = (acknowledged.get(petId) ?? 1_000_000) + 1;
      const body = `{"quantity":${quantity}}`;
      const headers = { authorization: `Bearer ${key.key}`, "content-type": "application/json" };
      const answer = await http.send({ method: "PATCH", path: `/v1/inventory/${petId}`, headers, body });
      expect(answer.status).toBe(200);
      acknowledged.set(petId, quantity);
    }
  }
  async function read(): Promise<void> {
    while (!isDone) {
      const expected = new Map(acknowledged);
      const items = await list();
      expect(items).toHaveLength(count);
      const older = [...expected].filter(([petId, quantity]) => !((items[petId]?.quantity ?? 0) >= quantity));
      expect(older).toEqual([]);
    }
  }
  const reading = Promise.all([read(), read()]);
  await Promise.all([1, 2, 3, 4].map(update)).finally(() => {
    isDone = true;
  });
  await reading;
});

it("shows within a second what another process has imported", async () => {
  const before = await get("/v1/inventory");
  const file = join(server.store.directory, "more.csv");
  writeFileSync(file, toCsv([{ ...petOf(3), quantity: 33n }, petOf(count), { ...petOf(0), id: -7n }]));
  await server.store.run("import", file);
  await until(
    async () => (await get("/v1/inventory?pageSize=1")).headers.get("etag") !== before.headers.get("etag"),
    1_000,
  );
  const items = await list();
  expect(items).toHaveLength(count + 2);
  expect([items[0]?.petId, items.at(-1)?.petId, items[4]?.quantity]).toEqual([-7, count, 33]);
});

it("is the same list to who has it, though commands read the store", async () => {
  const etag = async () => (await get("/v1/inventory?pageSize=1")).headers.get("etag");
  // Each of them takes longer than it takes the server to see what others have written.
  await server.store.run("keys", "list");
  const before = await etag();
  await server.store.run("export");
  await server.store.run("keys", "list");
  expect(await etag()).toBe(before);
});

describe.each([
  ["HTTP/1.1", createHttp1Client],
  ["HTTP/2", createHttp2Client],
])("over %s", (_version, createClient) => {
  let client: HttpClient;
  beforeAll(() => {
    client = createClient(server);
    return () => client.close();
  });

  it.each(goodLists)("answers 304 to who has %s already", async (path) => {
    const full = await get(path, { client });
    const etag = full.headers.get("etag") ?? "";
    expect(etag).toMatch(/^W\/"[\w-]+"$/);
    for (const method of ["GET", "HEAD"]) {
      for (const known of [etag, etag.slice(2), `"other", ${etag}`, "*"]) {
        const answer = await get(path, { method, headers: { "if-none-match": known }, client });
        expect([answer.status, answer.text]).toEqual([304, ""]);
        for (const name of ["etag", "cache-control", "vary", "link"]) {
          expect(answer.headers.get(name), name).toBe(full.headers.get(name));
        }
        expect(answer.headers.get("x-ratelimit-remaining")).toMatch(/^\d+$/);
      }
    }
  });

  it("keeps shared caches out", async () => {
    expect((await get("/v1/inventory", { client })).headers.get("cache-control")).toBe("private, no-cache");
  });

  it("counts a request that is answered by 304", async () => {
    const first = await get("/v1/inventory?pageSize=1", { client });
    const headers = { "if-none-match": first.headers.get("etag") ?? "" };
    const second = await get("/v1/inventory?pageSize=1", { headers, client });
    const remaining = [first, second].map((answer) => Number(answer.headers.get("x-ratelimit-remaining")));
    expect((remaining[0] ?? 0) - (remaining[1] ?? 0)).toBe(1);
  });

  it("refuses a bad request, whatever the client has", async () => {
    const headers = { "if-none-match": "*" };
    expectErrorBody(await get("/v1/inventory?status=x", { headers, client }), "INVALID_REQUEST");
    const answer = await client.send({ method: "GET", path: "/v1/inventory", headers });
    expectErrorBody(answer, "API_KEY_MISSING");
  });

  it.each([
    ["gzip", gunzipSync],
    ["br", brotliDecompressSync],
  ] as const)("compresses by %s where that is asked for", async (coding, decompress) => {
    for (const path of ["/v1/inventory", "/v1/inventory?pageSize=100", "/v1/inventory?status=sold"]) {
      const [plain, coded, head] = [
        await get(path, { client }),
        await get(path, { headers: { "accept-encoding": coding }, client }),
        await get(path, { method: "HEAD", headers: { "accept-encoding": coding }, client }),
      ];
      expect(decompress(coded.bytes).equals(plain.bytes)).toBe(true);
      expect(coded.headers.get("content-encoding")).toBe(coding);
      expect(plain.headers.get("content-encoding")).toBeNull();
      expect(head.bytes).toHaveLength(0);
      for (const answer of [plain, coded, head]) {
        expect(answer.headers.get("vary")).toContain("Accept-Encoding");
        expect(answer.headers.get("etag")).toBe(plain.headers.get("etag"));
        expect(answer.headers.get("content-type")).toBe("application/json");
      }
      for (const name of ["content-encoding", "content-length"]) {
        expect(head.headers.get(name), name).toBe(coded.headers.get(name));
      }
    }
  });

  it("leaves short answers as they are", async () => {
    const { headers } = await get("/v1/inventory?pageSize=1", { headers: { "accept-encoding": "gzip" }, client });
    expect([headers.get("content-encoding"), headers.get("vary")]).toEqual([null, null]);
  });
});

/**
 * Interceptors take memory of their own, and of several servers only one is looked at. Over PostgreSQL the lists are made
 * of the same cache.
 */
const isMemoryTelling = process.env.TEST_INTERCEPTORS === undefined && !isOnPostgres && !isSeveral;

it.runIf(isMemoryTelling)("makes no more of a list than its client reads", async () => {
  // Nobody keeps this list ready: what is made of it is held for one client alone.
  const path = "/v1/inventory?status=sold&status=available";
  async function readOften(): Promise<void> {
    for (let round = 0; round < 10; round += 1) {
      expect(await list(path)).toHaveLength(count + 2);
    }
  }
  await readOften();
  const before = residentBytes();
  const session = connect(server.origin);
  try {
    // In HTTP/2 what a client does not read stays with the server, and not in the system's buffers.
    const unread = Array.from({ length: 60 }, () =>
      session.request({ ":path": path, authorization: `Bearer ${key.key}` }),
    );
    await Promise.all(unread.map((stream) => once(stream, "response")));
    // Others are served meanwhile, for longer than it would take to make all of the first ones' lists.
    await readOften();
    // The list has 3 MB: all of it for each would be 180 MB.
    expect(residentBytes() - before).toBeLessThan(90_000_000);
  } finally {
    session.destroy();
  }
});

function residentBytes(): number {
  const status = readFileSync(`/proc/${server.pid}/status`, "utf8");
  return Number(/VmRSS:\s+(\d+)/.exec(status)?.[1]) * 1_024;
}
