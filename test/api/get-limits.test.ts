import { type Timestamp, timestampMs } from "@bufbuild/protobuf/wkt";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type KeyLimits, type KeyWindow, Plan } from "../../gen/petstore/v1/key_limits_pb.ts";
import { type Protocol, protocols, rest } from "../support/clients/protocols.ts";
import { expectFailure, expectLimits, expectSuccess } from "../support/expectations.ts";
import { createHttp1Client } from "../support/http.ts";
import { startServer, type TestServer } from "../support/server.ts";

let server: TestServer;
/** Keys, each in another state, which none of these tests changes. */
let keys: Record<"fresh" | "used" | "spent" | "banned" | "reader", string>;

beforeAll(async () => {
  server = await startServer();
  const { store } = server;
  const [fresh, used, spent, banned, reader] = await Promise.all([
    store.mintKey("--plan", "free").then(({ key }) => key),
    store.mintQuota(10, 100).then(({ key }) => key),
    store.mintQuota(20, 2).then(({ key }) => key),
    store.mintQuota(1, 100).then(({ key }) => key),
    store.mintKey("--scope", "orders:read").then(({ key }) => key),
  ]);
  await Promise.all([listTimes(3, used), listTimes(5, spent), listTimes(21, banned)]);
  keys = { fresh, used, spent, banned, reader };
});

afterAll(() => server?.stop());

const list = (key: string) => server.call(rest, "listInventory", { pageSize: 1 }, { key });

async function listTimes(count: number, key: string): Promise<void> {
  for (let made = 0; made < count; made++) {
    await list(key);
  }
}

async function getLimits(protocol: Protocol, key: string) {
  const outcome = await server.call(protocol, "getLimits", {}, { key });
  return { headers: outcome.headers, limits: expectSuccess(outcome).limits as KeyLimits };
}

function numbers(window: KeyWindow | undefined): (bigint | undefined)[] {
  return [window?.limit, window?.remaining, BigInt(window?.lengthSeconds ?? 0)];
}

/** The seconds until a moment, as seen by this machine's clock. */
function secondsTo(time: Timestamp | undefined): number {
  return time === undefined ? Number.NaN : (timestampMs(time) - Date.now()) / 1_000;
}

describe.each(protocols)("over $name", (protocol) => {
  it("tells a fresh key that all is left", async () => {
    const { limits, headers } = await getLimits(protocol, keys.fresh);
    expect(limits.plan).toBe(Plan.FREE);
    expect(numbers(limits.minute)).toEqual([60n, 60n, 60n]);
    expect(numbers(limits.day)).toEqual([1_000n, 1_000n, 86_400n]);
    expect(numbers(limits.strikes)).toEqual([60n, 60n, 60n]);
    expect(limits.ban).toBeUndefined();
    expect(expectLimits(headers)).toMatchObject({ limit: 60, remaining: 60 });
  });

  it("tells what was used, and charges nothing for telling", async () => {
    const { limits, headers } = await getLimits(protocol, keys.used);
    expect(limits.plan).toBe(Plan.ENTERPRISE);
    expect(numbers(limits.minute)).toEqual([10n, 7n, 60n]);
    expect(numbers(limits.day)).toEqual([100n, 97n, 86_400n]);
    expect(secondsTo(limits.minute?.resetTime)).toBeGreaterThan(0);
    expect(secondsTo(limits.minute?.resetTime)).toBeLessThanOrEqual(60);
    expect(expectLimits(headers)).toMatchObject({ limit: 10, remaining: 7 });
  });

  it("answers a key whose window is used up, with the strikes that are left", async () => {
    const { limits, headers } = await getLimits(protocol, keys.spent);
    expect(numbers(limits.day)).toEqual([2n, 0n, 86_400n]);
    expect(numbers(limits.strikes)).toEqual([20n, 17n, 60n]);
    expect(expectLimits(headers)).toMatchObject({ limit: 2, remaining: 0 });
    expect(headers.get("retry-after")).toBeNull();
  });

  it("answers a banned key, with the end of the ban", async () => {
    const { limits, headers } = await getLimits(protocol, keys.banned);
    expect(limits.ban?.step).toBe(1);
    expect(secondsTo(limits.ban?.endTime)).toBeGreaterThan(60);
    expect(secondsTo(limits.ban?.endTime)).toBeLessThanOrEqual(120);
    expect(numbers(limits.day)).toEqual([100n, 99n, 86_400n]);
    const { remaining, reset } = expectLimits(headers);
    expect([remaining, reset]).toEqual([0, Math.ceil(timestampMs(limits.ban?.endTime as Timestamp) / 1_000)]);
  });

  it("needs no scope of its key", async () => {
    await getLimits(protocol, keys.reader);
  });

  it("needs a valid key, and counts requests without one", async () => {
    const before = await server.call(protocol, "getLimits", {});
    expectFailure(before, "API_KEY_MISSING");
    const after = await server.call(protocol, "getLimits", {});
    expect(expectLimits(after.headers).remaining).toBeLessThan(expectLimits(before.headers).remaining);
  });
});

it("has charged nothing", async () => {
  expect(expectLimits((await list(keys.used)).headers)).toMatchObject({ remaining: 6 });
});

it("writes all of it as REST does, and leaves out a ban that there is not", async () => {
  const http = createHttp1Client(server);
  const answer = await http.send({
    method: "GET",
    path: "/v1/limits",
    headers: { authorization: `Bearer ${keys.fresh}` },
  });
  http.close();
  const time = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/);
  expect(JSON.parse(answer.text)).toEqual({
    plan: "free",
    minute: { limit: 60, remaining: 60, resetTime: time, lengthSeconds: 60 },
    day: { limit: 1_000, remaining: 1_000, resetTime: time, lengthSeconds: 86_400 },
    strikes: { limit: 60, remaining: 60, resetTime: time, lengthSeconds: 60 },
  });
});
