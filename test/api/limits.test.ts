import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Outcome } from "../support/clients/client.ts";
import { protocols, rest } from "../support/clients/protocols.ts";
import { until } from "../support/deadline.ts";
import { expectFailure, expectLimits, expectSuccess } from "../support/expectations.ts";
import { createHttp1Client, createHttp2Client } from "../support/http.ts";
import { samples } from "../support/operations.ts";
import { type MintedKey, serve, startServer, type TestServer, TestStore } from "../support/server.ts";

const daySeconds = 86_400;

let server: TestServer;
/** A key that no test uses up. */
let common: MintedKey;

beforeAll(async () => {
  server = await startServer("--trusted-proxy", "127.0.0.1/32");
  common = await server.store.mintKey();
});

afterAll(() => server?.stop());

function list(key: string | undefined, protocol = rest, headers: Record<string, string> = {}): Promise<Outcome> {
  return server.call(protocol, "listInventory", { pageSize: 1 }, { key, headers });
}

async function listTimes(count: number, key: string, protocol = rest): Promise<Outcome[]> {
  const outcomes: Outcome[] = [];
  for (let made = 0; made < count; made++) {
    outcomes.push(await list(key, protocol));
  }
  return outcomes;
}

function codes(outcomes: readonly Outcome[]): (string | undefined)[] {
  return outcomes.map(({ failure }) => failure?.code);
}

/** The seconds until `Reset`, as seen by this machine's clock. */
function untilReset({ headers }: Outcome): number {
  return expectLimits(headers).reset - Date.now() / 1_000;
}

function retryAfter({ headers }: Outcome): number {
  expect(headers.get("retry-after")).toMatch(/^[1-9]\d*$/);
  return Number(headers.get("retry-after"));
}

/** RPC has the time to wait in its error's details too. */
function expectSameRetry(outcome: Outcome): void {
  expect(outcome.failure?.retrySeconds ?? retryAfter(outcome)).toBe(retryAfter(outcome));
  expect(outcome.failure?.retrySeconds === undefined).toBe(outcome.failure?.canonical === undefined);
}

/** How many requests the day has left, by the `RateLimit` header. */
function dayRemaining({ headers }: Outcome): number {
  return Number(/"day";r=(\d+)/.exec(headers.get("ratelimit") ?? "")?.[1]);
}

describe("the headers of the first answer", () => {
  it.each([
    ["free", 60, 1_000, []],
    ["pro", 300, 10_000, []],
    ["business", 1_000, 100_000, []],
    ["enterprise", 7, 70, ["--per-minute", "7", "--per-day", "70"]],
  ])("show the quota of the %s plan", async (plan, perMinute, perDay, flags) => {
    const { key } = await server.store.mintKey("--plan", plan, ...flags);
    const outcome = await list(key);
    expect(expectLimits(outcome.headers)).toMatchObject({ limit: perMinute, remaining: perMinute - 1 });
    expect(untilReset(outcome)).toBeGreaterThan(55);
    expect(untilReset(outcome)).toBeLessThanOrEqual(61);
    expect(outcome.headers.get("ratelimit-policy")).toBe(
      `"minute";q=${perMinute};w=60, "day";q=${perDay};w=${daySeconds}`,
    );
    expect(outcome.headers.get("ratelimit")).toMatch(
      new RegExp(`^"minute";r=${perMinute - 1};t=(59|60), "day";r=${perDay - 1};t=(86399|86400)$`),
    );
    expect(outcome.headers.get("retry-after")).toBeNull();
  });

  it.each([
    ["the minute, when it has fewer left", 3, 100, 3, 60],
    ["the day, when it has fewer left", 100, 3, 3, daySeconds],
    ["the day, when both have as many left", 3, 3, 3, daySeconds],
  ])("describe %s", async (_title, perMinute, perDay, limit, seconds) => {
    const outcome = await list((await server.store.mintQuota(perMinute, perDay)).key);
    expect(expectLimits(outcome.headers)).toMatchObject({ limit, remaining: limit - 1 });
    expect(untilReset(outcome)).toBeGreaterThan(seconds - 10);
    expect(untilReset(outcome)).toBeLessThanOrEqual(seconds + 1);
  });
});

describe("one key over all protocols", () => {
  const each = 3;
  const quota = each * protocols.length;
  let key: MintedKey;

  beforeAll(async () => {
    key = await server.store.mintQuota(quota, 1_000);
  });

  it.each(protocols.map((protocol, index) => ({ protocol, name: protocol.name, index })))(
    "is counted down over $name",
    async ({ protocol, index }) => {
      const outcomes = await listTimes(each, key.key, protocol);
      const left = quota - each * index;
      expect(outcomes.map(({ headers }) => expectLimits(headers).remaining)).toEqual([left - 1, left - 2, left - 3]);
      resets.push(...outcomes.map(({ headers }) => expectLimits(headers).reset));
    },
  );

  it.each(protocols)("is refused over $name when it is used up, with the time to wait", async (protocol) => {
    for (const outcome of await listTimes(2, key.key, protocol)) {
      expectFailure(outcome, "RATE_LIMIT_EXCEEDED");
      expect(expectLimits(outcome.headers)).toEqual({ limit: quota, remaining: 0, reset: resets[0] });
      expect(retryAfter(outcome)).toBeLessThanOrEqual(60);
      expect(retryAfter(outcome)).toBeGreaterThanOrEqual(Math.floor(untilReset(outcome)));
      expectSameRetry(outcome);
    }
  });

  const resets: number[] = [];
  it("has one reset in all of this", () => {
    expect(new Set(resets).size).toBe(1);
  });
});

describe("counting", () => {
  it("admits no more than the quota of requests that come at once", async () => {
    const { key } = await server.store.mintQuota(10, 1_000);
    const outcomes = await Promise.all(
      Array.from({ length: 26 }, (_, at) => list(key, protocols[at % protocols.length])),
    );
    expect(outcomes.filter(({ message }) => message !== undefined)).toHaveLength(10);
  });

  it("charges neither window for what it refuses", async () => {
    const { key } = await server.store.mintQuota(2, 100);
    const outcomes = await listTimes(8, key);
    expect(outcomes.map(dayRemaining)).toEqual([99, 98, 98, 98, 98, 98, 98, 98]);
  });

  it("does not charge the minute for what the day refuses", async () => {
    const { key } = await server.store.mintQuota(100, 2);
    const outcomes = await listTimes(5, key);
    expect(outcomes.map(({ headers }) => /"minute";r=(\d+)/.exec(headers.get("ratelimit") ?? "")?.[1])).toEqual([
      "99",
      "98",
      "98",
      "98",
      "98",
    ]);
    expect(retryAfter(outcomes[4] as Outcome)).toBeGreaterThan(daySeconds - 60);
  });

  it("names the later reset when both windows refuse", async () => {
    const { key } = await server.store.mintQuota(1, 1);
    const [, refused] = await listTimes(2, key);
    expect(untilReset(refused as Outcome)).toBeGreaterThan(daySeconds - 60);
    expect(retryAfter(refused as Outcome)).toBeGreaterThan(daySeconds - 60);
  });

  it("charges every authenticated request, whatever its outcome", async () => {
    const { key } = await server.store.mintQuota(100, 1_000);
    const http = createHttp1Client(server);
    const authorization = `Bearer ${key}`;
    const requests: [method: string, path: string, body?: string, contentType?: string][] = [
      ["GET", "/v1/inventory"],
      ["HEAD", "/v1/inventory"],
      ["OPTIONS", "/v1/inventory"],
      ["GET", "/v1/inventory?pageSize=0"],
      ["GET", "/v1/nope"],
      ["DELETE", "/v1/inventory"],
      ["GET", "/v1/pets/404404"],
      ["PATCH", "/v1/inventory/7", "{", "application/json"],
      ["PATCH", "/v1/inventory/x", "{}", "application/json"],
      ["PATCH", "/v1/inventory/7", "{}", "text/plain"],
      ["POST", "/petstore.v1.PetService/GetPet", '{"petId":"404404"}', "application/json"],
      ["POST", "/petstore.v1.PetService/GetPet", "{", "application/json"],
      ["POST", "/petstore.v1.PetService/Nope", "{}", "application/json"],
    ];
    const remaining: number[] = [];
    for (const [method, path, body, contentType] of requests) {
      const headers = { authorization, ...(contentType && { "content-type": contentType }) };
      remaining.push(expectLimits((await http.send({ method, path, body, headers })).headers).remaining);
    }
    http.close();
    expect(remaining).toEqual(requests.map((_, index) => 99 - index));
  });

  it("charges a key that lacks the scope", async () => {
    const flags = ["--plan", "enterprise", "--per-minute", "9", "--per-day", "90", "--scope", "orders:read"];
    const { key } = await server.store.mintKey(...flags);
    const outcome = await list(key);
    expectFailure(outcome, "SCOPE_MISSING");
    expect(expectLimits(outcome.headers)).toMatchObject({ limit: 9, remaining: 8 });
  });

  it("does not count calls of health", async () => {
    const { key } = await server.store.mintQuota(10, 100);
    const http = createHttp1Client(server);
    const headers = { authorization: `Bearer ${key}`, "content-type": "application/json" };
    for (let made = 0; made < 3; made++) {
      const answer = await http.send({ method: "POST", path: "/grpc.health.v1.Health/Check", headers, body: "{}" });
      expect(answer.status).toBe(200);
    }
    http.close();
    expect(expectLimits((await list(key)).headers).remaining).toBe(9);
  });

  it("keeps the counts of keys apart", async () => {
    const keys = await Promise.all([server.store.mintQuota(5, 50), server.store.mintQuota(5, 50)]);
    for (const { key } of keys) {
      const outcomes = await listTimes(2, key);
      expect(outcomes.map(({ headers }) => expectLimits(headers).remaining)).toEqual([4, 3]);
    }
  });
});

describe("a ban", () => {
  it.each([
    ["20 refusals", 1, 20],
    ["as many refusals as the minute's quota", 25, 25],
  ])("follows %s", async (_title, perMinute, threshold) => {
    const { key } = await server.store.mintQuota(perMinute, 1_000);
    const outcomes = await listTimes(perMinute + threshold + 1, key);
    expect(codes(outcomes)).toEqual([
      ...Array(perMinute).fill(undefined),
      ...Array(threshold - 1).fill("RATE_LIMIT_EXCEEDED"),
      "API_KEY_BANNED",
      "API_KEY_BANNED",
    ]);
  });

  it("lasts two minutes, and does not move", async () => {
    const { key } = await server.store.mintQuota(1, 1_000);
    await listTimes(20, key);
    const bans = await listTimes(5, key);
    for (const banned of bans) {
      expectFailure(banned, "API_KEY_BANNED");
      expect(retryAfter(banned)).toBeGreaterThan(110);
      expect(retryAfter(banned)).toBeLessThanOrEqual(120);
      expect(expectLimits(banned.headers).remaining).toBe(0);
    }
    expect(new Set(bans.map(({ headers }) => headers.get("x-ratelimit-reset"))).size).toBe(1);
  });

  it.each(protocols)("holds over $name", async (protocol) => {
    const outcome = await list(bannedKey.key, protocol);
    expectFailure(outcome, "API_KEY_BANNED");
    expectLimits(outcome.headers);
    expectSameRetry(outcome);
  });

  it("names the end of a used-up window, if that is later", async () => {
    const { key } = await server.store.mintQuota(1, 1);
    const banned = (await listTimes(21, key)).at(-1) as Outcome;
    expectFailure(banned, "API_KEY_BANNED");
    expect(retryAfter(banned)).toBeGreaterThan(daySeconds - 60);
    expect(untilReset(banned)).toBeGreaterThan(daySeconds - 60);
  });

  it("is lifted by unban while the server runs, and is longer the next time", async () => {
    const { id, key } = await server.store.mintQuota(1, 1_000);
    await listTimes(21, key);
    await server.store.run("keys", "unban", id);
    await until(async () => (await list(key)).failure?.code !== "API_KEY_BANNED", 1_000);
    const again = await listTimes(19, key);
    expect(codes(again)).toEqual([...Array(18).fill("RATE_LIMIT_EXCEEDED"), "API_KEY_BANNED"]);
    expect(retryAfter(again.at(-1) as Outcome)).toBeGreaterThan(590);
    expect(retryAfter(again.at(-1) as Outcome)).toBeLessThanOrEqual(600);
  });

  it("stands behind a bad key, and before an unknown route", async () => {
    const http = createHttp1Client(server);
    const send = (authorization: string) => http.send({ method: "GET", path: "/v1/nope", headers: { authorization } });
    expect((await send(`Bearer ${bannedKey.key}x`)).status).toBe(401);
    expect((await send(`Bearer ${bannedKey.key}`)).status).toBe(429);
    http.close();
  });

  let bannedKey: MintedKey;
  beforeAll(async () => {
    bannedKey = await server.store.mintQuota(1, 1_000);
    await listTimes(21, bannedKey.key);
  });
});

describe("strangers", () => {
  const from = (address: string) => ({ "x-forwarded-for": address });

  it("are counted by address, at 300 a minute", async () => {
    const http = createHttp2Client(server);
    const send = (address: string) =>
      http.send({ method: "GET", path: "/v1/inventory", headers: from(address) }).then(({ status }) => status);
    const statuses = await Promise.all(Array.from({ length: 310 }, () => send("198.51.100.1")));
    expect(statuses.filter((status) => status === 401)).toHaveLength(300);
    expect(statuses.filter((status) => status === 429)).toHaveLength(10);
    expect(await send("198.51.100.2")).toBe(401);
    http.close();
  });

  it.each(protocols)(
    "are refused beyond it over $name, while a key's holder at that address is not",
    async (protocol) => {
      const refused = await list(undefined, protocol, from("198.51.100.1"));
      expectFailure(refused, "RATE_LIMIT_EXCEEDED");
      expect(expectLimits(refused.headers)).toMatchObject({ limit: 300, remaining: 0 });
      expect(retryAfter(refused)).toBeLessThanOrEqual(60);
      expectSuccess(await list(common.key, protocol, from("198.51.100.1")));
    },
  );

  it.each(protocols)("see that limit on their refusals over $name", async (protocol) => {
    const address = `203.0.113.${protocols.indexOf(protocol)}`;
    for (const remaining of [299, 298]) {
      const outcome = await list("psk_wrong", protocol, from(address));
      expectFailure(outcome, "API_KEY_INVALID");
      expect(expectLimits(outcome.headers)).toMatchObject({ limit: 300, remaining });
    }
  });

  it.each([
    ["IPv6 addresses of one /64 are one", ["2001:db8:0:1::1", "2001:db8:0:1:ffff::2"], [299, 298]],
    ["IPv6 addresses of two /64 are two", ["2001:db8:0:2::1", "2001:db8:0:3::1"], [299, 299]],
    ["an IPv4 address in IPv6 is itself", ["192.0.2.77", "::ffff:192.0.2.77"], [299, 298]],
    ["a client's own entries are not believed", ["1.1.1.1, 192.0.2.1", "2.2.2.2, 192.0.2.1"], [299, 298]],
    ["trusted hops are passed over", ["192.0.2.5, 127.0.0.1", "192.0.2.5"], [299, 298]],
  ])("%s", async (_title, addresses, remaining) => {
    const found: number[] = [];
    for (const address of addresses) {
      found.push(expectLimits((await list(undefined, rest, from(address))).headers).remaining);
    }
    expect(found).toEqual(remaining);
  });
});

describe("without a trusted proxy", () => {
  it("believes nobody's X-Forwarded-For", async () => {
    const direct = await serve(new TestStore());
    const remaining: number[] = [];
    for (const address of ["198.51.100.1", "198.51.100.2", "198.51.100.3"]) {
      const { headers } = await direct.call(rest, "listInventory", {}, { headers: { "x-forwarded-for": address } });
      remaining.push(expectLimits(headers).remaining);
    }
    await direct.stop();
    expect(remaining).toEqual([299, 298, 297]);
  });
});

describe("a restart", () => {
  it("keeps counts and bans", async () => {
    const before = await serve(new TestStore());
    const [counted, banned] = await Promise.all([before.store.mintQuota(50, 500), before.store.mintQuota(1, 500)]);
    const call = (to: TestServer, { key }: MintedKey) => to.call(rest, "listInventory", {}, { key });
    for (let made = 0; made < 21; made++) {
      await call(before, counted);
      await call(before, banned);
    }
    const lastReset = expectLimits((await call(before, counted)).headers).reset;
    expect(await before.end()).toBe(0);
    const after = await serve(before.store);
    const { headers } = await call(after, counted);
    expect(expectLimits(headers)).toEqual({ limit: 50, remaining: 27, reset: lastReset });
    expectFailure(await call(after, banned), "API_KEY_BANNED");
    await after.stop();
  });

  it("after a kill has forgotten at most the last second of counting", async () => {
    const before = await serve(new TestStore());
    const { key } = await before.store.mintQuota(100_000, 100_000);
    const made: number[] = [];
    const killAt = Date.now() + 1_500;
    await until(async () => {
      await before.call(rest, "listInventory", { pageSize: 1 }, { key });
      made.push(Date.now());
      return Date.now() > killAt;
    }, 5_000);
    const killedAt = Date.now();
    await before.end("SIGKILL");
    const after = await serve(before.store);
    const { headers } = await after.call(rest, "listInventory", { pageSize: 1 }, { key });
    await after.stop();
    const remembered = 100_000 - expectLimits(headers).remaining - 1;
    expect(remembered).toBeGreaterThanOrEqual(made.filter((at) => at <= killedAt - 1_000).length);
    expect(remembered).toBeLessThanOrEqual(made.length);
  });
});

it.each(samples)("stands on the answer to $operation over every protocol", async ({ operation, input }) => {
  for (const protocol of protocols) {
    expectLimits((await server.call(protocol, operation, input, common)).headers);
  }
});
