import { createServer, type Server } from "node:http";
import { type AddressInfo, createServer as createTcpServer } from "node:net";
import { inspect } from "node:util";
import { Code, ConnectError, type Transport } from "@connectrpc/connect";
import { createConnectTransport, createGrpcTransport, createGrpcWebTransport } from "@connectrpc/connect-node";
import { createConnectTransport as createWebTransport } from "@connectrpc/connect-web";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import {
  codeOf,
  createPetstoreClient,
  fieldViolationsOf,
  type Limits,
  OrderStatus,
  PetStatus,
  type PetstoreClient,
  type PetstoreClientOptions,
  Plan,
  reasonOf,
  retryDelayMsOf,
  type TransportOptions,
} from "../../client/src/index.ts";
import { systemTiming, type Timing } from "../../client/src/timing.ts";
import { orders, pets } from "../support/fixture.ts";
import { startServer, type TestServer } from "../support/server.ts";
import { type Cut, cuts } from "./cutting-proxy.ts";
import { FakeTiming } from "./fake-timing.ts";

const transports: { name: string; transport?: (options: TransportOptions) => Transport }[] = [
  { name: "the default transport" },
  { name: "Connect", transport: (options) => createConnectTransport({ httpVersion: "1.1", ...options }) },
  { name: "Connect, HTTP/2", transport: (options) => createConnectTransport({ httpVersion: "2", ...options }) },
  { name: "gRPC", transport: createGrpcTransport },
  { name: "gRPC-Web", transport: (options) => createGrpcWebTransport({ httpVersion: "1.1", ...options }) },
];

let server: TestServer;
let key: string;

beforeAll(async () => {
  server = await startServer();
  key = (await server.store.mintKey()).key;
});

afterAll(() => server?.stop());

function open(parts: Partial<PetstoreClientOptions>): PetstoreClient {
  return createPetstoreClient({ baseUrl: server.origin, apiKey: key, ...parts });
}

async function failureOf(call: Promise<unknown>): Promise<ConnectError> {
  const error = await call.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(ConnectError);
  return error as ConnectError;
}

// Calls with a value of any type, as JavaScript may make them.
const sizedList = (client: PetstoreClient, pageSize: never) => client.inventory.listInventory({ pageSize });
const filteredList = (client: PetstoreClient, status: never) => client.inventory.listInventory({ status });
const update = (client: PetstoreClient, value: never) => client.inventory.updateInventory({ petId: 7n, update: value });
const hold = (client: PetstoreClient, ttl: never) => client.holds.createHold({ petId: 7n, quantity: 1n, ttl });
const batch = (client: PetstoreClient, changes: never) => client.inventory.batchUpdateInventory({ changes });
const watch = (client: PetstoreClient, petId: never) => client.watchStockChanges({ petId }).next();

describe.each(transports)("over $name", ({ transport }) => {
  it("lists the inventory page by page", async () => {
    const answers: Limits[] = [];
    const client = open({ transport, onLimits: (limits) => answers.push(limits) });
    const items = await Array.fromAsync(client.listInventory({ pageSize: 4 }));
    expect(items.map(({ petId }) => petId)).toEqual(pets.map(({ id }) => id));
    expect(answers).toHaveLength(Math.ceil(pets.length / 4));
  });

  it("lists the orders that are asked for", async () => {
    const client = open({ transport });
    const found = await Array.fromAsync(client.listOrders({ pageSize: 1, status: [OrderStatus.PLACED] }));
    const placed = orders.filter(({ status }) => status === "placed");
    expect(found.map(({ id }) => id)).toEqual(placed.map(({ id }) => id));
  });

  it("goes on from a page's token", async () => {
    const client = open({ transport });
    const { nextPageToken: pageToken } = await client.inventory.listInventory({ pageSize: 4 });
    const items = await Array.fromAsync(client.listInventory({ pageToken }));
    expect(items.map(({ petId }) => petId)).toEqual(pets.slice(4).map(({ id }) => id));
  });

  it("asks for no page that is not read", async () => {
    const answers: Limits[] = [];
    const client = open({ transport, onLimits: (limits) => answers.push(limits) });
    const calls: number[] = [];
    for await (const _item of client.listInventory({ pageSize: 2 })) {
      calls.push(answers.length);
      if (calls.length === 5) {
        break;
      }
    }
    expect(calls).toEqual([1, 1, 2, 2, 3]);
    expect(answers).toHaveLength(3);
  });

  it("updates the stock, and reads a pet", async () => {
    const client = open({ transport });
    const { item } = await client.inventory.updateInventory({ petId: 5n, update: { quantity: 9n } });
    expect(item).toMatchObject({ petId: 5n, quantity: 9n, status: PetStatus.SOLD });
    expect((await client.pets.getPet({ petId: 7n })).pet?.name).toBe("Zoë 犬");
  });

  it("tells why a call failed", async () => {
    const client = open({ transport });
    const missing = await failureOf(client.inventory.updateInventory({ petId: 404404n, update: { quantity: 1n } }));
    expect(reasonOf(missing)).toBe("PET_NOT_FOUND");
    expect(codeOf(missing)).toBe("not_found");
    const invalid = await failureOf(client.inventory.updateInventory({ petId: 7n, update: {} }));
    expect(reasonOf(invalid)).toBe("INVALID_REQUEST");
    expect(fieldViolationsOf(invalid).map(({ field }) => field)).toEqual(["update.quantity"]);
  });

  it("names wrong fields as the request does", async () => {
    const client = open({ transport });
    const changes = [{ petId: 7n, quantity: 1n }, { quantity: 1n }];
    const failure = await failureOf(client.inventory.batchUpdateInventory({ changes }));
    expect(fieldViolationsOf(failure)).toEqual([{ field: "changes[1].petId", description: "value is required" }]);
  });

  it.each<[string, (client: PetstoreClient, value: never) => Promise<unknown>, unknown, string]>([
    ["pageSize", sizedList, "5", 'expected number (int32), got "5"'],
    ["pageSize", sizedList, 1.5, "expected number (int32), got 1.5"],
    ["pageSize", sizedList, 2 ** 53, "expected number (int32): 9007199254740992 out of range"],
    ["pageToken", (client, pageToken) => client.inventory.listInventory({ pageToken }), 5, "expected string, got 5"],
    ["status", filteredList, PetStatus.SOLD, "expected an array"],
    ["status[1]", filteredList, [1, "sold"], 'expected enum petstore.v1.PetStatus, got "sold"'],
    [
      "petId",
      (client, petId) => client.inventory.getInventory({ petId }),
      "x",
      "expected bigint (int64): x out of range",
    ],
    ["update.quantity", update, { quantity: 2n ** 63n }, "expected bigint (int64): 9223372036854775808 out of range"],
    ["update", update, 5n, "expected an object"],
    ["ttl.seconds", hold, { seconds: 1.5 }, "expected bigint (int64): 1.5 out of range"],
    ["changes[1].allowNegative", batch, [{ petId: 7n, delta: 1n }, { allowNegative: 1 }], "expected boolean, got 1"],
    ["petId", watch, 7n, "expected an array"],
    ["petId[0]", watch, [true], "expected bigint (int64), got true"],
  ])("names %s, whose value does not fit, and does not ask the service", async (field, call, value, description) => {
    let answers = 0;
    const client = open({ transport, onLimits: () => answers++ });
    const failure = await failureOf(call(client, value as never));
    expect([codeOf(failure), failure.rawMessage]).toEqual(["invalid_argument", `${field}: ${description}.`]);
    expect(fieldViolationsOf(failure)).toEqual([{ field, description }]);
    expect(answers).toBe(0);
  });

  it("asks how its key stands, free of charge", async () => {
    const client = open({ transport });
    const { limits } = await client.keyLimits.getLimits({});
    expect(limits).toMatchObject({
      plan: Plan.BUSINESS,
      minute: { lengthSeconds: 60 },
      day: { lengthSeconds: 86_400 },
    });
    expect((await client.keyLimits.getLimits({})).limits?.minute?.remaining).toBe(limits?.minute?.remaining);
  });

  it("shows the limits of the last answer, failures included", async () => {
    const client = open({ transport, apiKey: (await server.store.mintQuota(50, 900)).key });
    expect(client.limits).toBeUndefined();
    await client.inventory.listInventory({});
    await failureOf(client.pets.getPet({ petId: 404404n }));
    expect(client.limits).toMatchObject({
      limit: 50,
      remaining: 48,
      windows: [
        { name: "minute", limit: 50, lengthSeconds: 60, remaining: 48 },
        { name: "day", limit: 900, lengthSeconds: 86_400, remaining: 898 },
      ],
    });
    for (const [window, lengthMs] of [
      [client.limits, 60_000],
      [client.limits?.windows[0], 60_000],
      [client.limits?.windows[1], 86_400_000],
    ] as const) {
      const untilReset = Number(window?.reset) - Date.now();
      expect(untilReset).toBeGreaterThan(lengthMs - 10_000);
      expect(untilReset).toBeLessThanOrEqual(lengthMs + 1_000);
    }
  });

  it("waits as a 429 says, for as often as it may", async () => {
    const timing = new FakeTiming({ now: Date.now(), random: 0 });
    const { key: apiKey } = await server.store.mintQuota(1, 900);
    const client = open({ transport, apiKey, timing });
    await client.inventory.listInventory({});
    const refused = await failureOf(client.inventory.listInventory({}));
    expect(reasonOf(refused)).toBe("RATE_LIMIT_EXCEEDED");
    expect(timing.delaysMs).toHaveLength(2);
    expect(timing.delaysMs.every((delayMs) => delayMs > 50_000 && delayMs <= 60_000)).toBe(true);
    expect(retryDelayMsOf(refused)).toBe(timing.delaysMs[1]);
    expect(client.limits).toMatchObject({ limit: 1, remaining: 0 });
  });

  it("neither waits past a deadline nor for a ban", async () => {
    const timing = new FakeTiming({ now: Date.now() });
    const { key: apiKey } = await server.store.mintQuota(1, 900);
    const client = open({ transport, apiKey, timing });
    const reasons: unknown[] = [];
    await client.inventory.listInventory({});
    for (let made = 0; made < 20; made++) {
      reasons.push(reasonOf(await failureOf(client.inventory.listInventory({}, { timeoutMs: 5_000 }))));
    }
    expect(reasonOf(await failureOf(client.inventory.listInventory({})))).toBe("API_KEY_BANNED");
    expect(reasons).toEqual([...Array(19).fill("RATE_LIMIT_EXCEEDED"), "API_KEY_BANNED"]);
    expect(timing.delaysMs).toEqual([]);
  });

  it.each([4_987.31, 0.1 + 60_000, 10 ** 8, 2 ** 31 - 1, 2 ** 31, 1e300, Number.POSITIVE_INFINITY])(
    "makes calls and streams that may take %d ms",
    async (timeoutMs) => {
      const client = open({ transport });
      await expect(client.inventory.listInventory({}, { timeoutMs })).resolves.toBeDefined();
      const stream = client.inventory.watchStockChanges({}, { timeoutMs });
      for await (const { cursor } of stream) {
        expect(cursor).not.toBe("");
        break;
      }
    },
  );

  it("makes no call, and no stream, that may take no time", async () => {
    const answers: Limits[] = [];
    const client = open({ transport, onLimits: (limits) => answers.push(limits) });
    for (const timeoutMs of [0, -0.5, -1, Number.NEGATIVE_INFINITY]) {
      expect(codeOf(await failureOf(client.inventory.listInventory({}, { timeoutMs })))).toBe("deadline_exceeded");
      const stream = client.inventory.watchStockChanges({}, { timeoutMs });
      expect(codeOf(await failureOf(stream[Symbol.asyncIterator]().next()))).toBe("deadline_exceeded");
    }
    expect(answers).toEqual([]);
  });

  it("ends a stream whose time is over", async () => {
    const stream = open({ transport }).inventory.watchStockChanges({}, { timeoutMs: 300.5 });
    const failure = await failureOf(Array.fromAsync(stream));
    expect(codeOf(failure)).toBe("deadline_exceeded");
  });

  it.each([Number.NaN, "5000", null])("refuses a timeout of %s", async (timeoutMs) => {
    const call = open({ transport }).inventory.listInventory({}, { timeoutMs: timeoutMs as never });
    const { code, rawMessage } = await failureOf(call);
    expect([code, rawMessage]).toEqual([Code.InvalidArgument, "timeoutMs: give a number of milliseconds."]);
  });

  it("stops waiting when it is aborted", async () => {
    const { key: apiKey } = await server.store.mintQuota(1, 900);
    const controller = new AbortController();
    const sleep: Timing["sleep"] = (delayMs, signal) => {
      const sleeping = systemTiming.sleep(delayMs, signal);
      controller.abort();
      return sleeping;
    };
    const client = open({ transport, apiKey, timing: { ...systemTiming, sleep } });
    await client.inventory.listInventory({});
    const refused = await failureOf(client.inventory.listInventory({}, { signal: controller.signal }));
    expect(refused.code).toBe(Code.Canceled);
  });

  it("tries again when nobody listens", async () => {
    const timing = new FakeTiming();
    const client = open({ transport, timing, baseUrl: "http://127.0.0.1:1" });
    const failure = await failureOf(client.inventory.listInventory({}));
    expect(codeOf(failure)).toBe("unavailable");
    expect(timing.delaysMs).toEqual([150, 300, 600, 1_200, 2_400]);
  });

  it.each(cuts.filter((cut) => cut !== "silence"))(
    "tells a connection that is lost by %s from a refusal",
    async (cut) => {
      const dropper = await startDropper(cut);
      try {
        const client = open({ transport, timing: new FakeTiming(), baseUrl: dropper.origin });
        const failure = await failureOf(client.inventory.updateInventory({ petId: 1n, update: { quantity: 1n } }));
        expect(codeOf(failure)).toBe("unavailable");
        expect(reasonOf(failure)).toBeUndefined();
      } finally {
        dropper.stop();
      }
    },
  );

  it("sends the key to no other origin", async () => {
    const stranger = await startStranger();
    const client = open({
      transport: (options) => (transport ?? createWebTransport)({ ...options, baseUrl: stranger.origin }),
    });
    expect((await failureOf(client.inventory.listInventory({}))).code).toBe(Code.FailedPrecondition);
    expect(stranger.keys).toEqual([]);
    stranger.server.close();
  });

  it("sends the key to no host in the path of its address", async () => {
    const stranger = await startStranger();
    const client = open({ transport, baseUrl: `${server.origin}//${new URL(stranger.origin).host}/v1` });
    await failureOf(client.inventory.listInventory({}));
    expect(stranger.keys).toEqual([]);
    stranger.server.close();
  });

  it("follows no redirect with the key", async () => {
    const stranger = await startStranger();
    const redirecting = await startStranger(`${stranger.origin}/elsewhere`);
    const client = open({ transport, baseUrl: redirecting.origin, retry: { maxAttempts: 1 } });
    await failureOf(client.inventory.listInventory({}, { timeoutMs: 2_000 }));
    expect(stranger.keys).toEqual([]);
    stranger.server.close();
    redirecting.server.close();
  });

  it("shows the key in no error, and nowhere in itself", async () => {
    const client = open({ transport, apiKey: `${key.slice(0, -1)}-` });
    const refused = await failureOf(client.inventory.listInventory({}));
    expect(reasonOf(refused)).toBe("API_KEY_INVALID");
    for (const shown of [refused, refused.cause, client]) {
      expect(inspect(shown, { depth: 20, showHidden: true })).not.toContain(key.slice(0, -1));
    }
  });

  it("asks for the key before each call, where it is a function", async () => {
    const keys = [key, "psk_wrong"];
    const client = open({ transport, apiKey: async () => keys.shift() ?? "" });
    await client.inventory.listInventory({});
    expect(reasonOf(await failureOf(client.inventory.listInventory({})))).toBe("API_KEY_INVALID");
    expect((await failureOf(client.inventory.listInventory({}))).code).toBe(Code.InvalidArgument);
  });

  it("does not wait longer for the key than for the call", async () => {
    const client = open({ transport, apiKey: () => new Promise(() => {}) });
    const late = await failureOf(client.inventory.listInventory({}, { timeoutMs: 50 }));
    expect(late.code).toBe(Code.DeadlineExceeded);
    const left = await failureOf(client.inventory.listInventory({}, { signal: AbortSignal.timeout(50) }));
    expect(left.code).toBe(Code.Canceled);
  });

  it("takes a key function that ends the call and throws", async () => {
    const leaving = new AbortController();
    const apiKey = () => {
      leaving.abort();
      throw new Error("the vault is closed");
    };
    await failureOf(open({ transport, apiKey }).inventory.listInventory({}, { signal: leaving.signal }));
  });
});

interface Stranger {
  readonly server: Server;
  readonly origin: string;
  /** The `Authorization` of each request that came. */
  readonly keys: unknown[];
}

/** Somebody else's server, which leads on to an address, if there is one. */
function startStranger(location?: string): Promise<Stranger> {
  const keys: unknown[] = [];
  const stranger = createServer((request, response) => {
    keys.push(request.headers.authorization);
    response.writeHead(location === undefined ? 404 : 307, location === undefined ? {} : { location }).end();
  });
  return new Promise((resolve) => {
    stranger.listen(0, "127.0.0.1", () => {
      const { port } = stranger.address() as AddressInfo;
      resolve({ server: stranger, origin: `http://127.0.0.1:${port}`, keys });
    });
  });
}

/** Listens on loopback, and cuts each connection once a request has come in part. */
async function startDropper(cut: Cut): Promise<{ origin: string; stop(): void }> {
  const dropper = createTcpServer((socket) => {
    socket.on("error", () => {});
    socket.once("data", () => setTimeout(() => (cut === "reset" ? socket.resetAndDestroy() : socket.destroy()), 20));
  });
  await new Promise<void>((resolve) => dropper.listen(0, "127.0.0.1", resolve));
  return { origin: `http://127.0.0.1:${(dropper.address() as AddressInfo).port}`, stop: () => dropper.close() };
}

describe("the address", () => {
  it.each(["", "/", "/v1", "/v1/"])("may end in '%s'", async (end) => {
    const client = open({ transport: createWebTransport, baseUrl: `${server.origin}${end}` });
    await expect(client.inventory.listInventory({})).resolves.toBeDefined();
  });

  it.each([
    ["https://shop.example/petstore/v1", "https://shop.example/petstore/"],
    ["https://shop.example/v1/petstore", "https://shop.example/v1/petstore"],
    ["https://shop.example/v2", "https://shop.example/v2"],
    ["https://shop.example//v1", "https://shop.example//"],
    ["https://shop.example//api/v1", "https://shop.example//api/"],
    ["https://shop.example///api/v1", "https://shop.example///api/"],
    ["https://shop.example\\\\api/v1", "https://shop.example//api/"],
    ["https://shop.example/\\api/v1", "https://shop.example//api/"],
    ["https://shop.example/\t/api/v1", "https://shop.example//api/"],
    ["https://shop.example/.//api/v1", "https://shop.example//api/"],
    ["https://shop.example/%2e//api/v1", "https://shop.example//api/"],
    ["https://shop.example/..//api/v1", "https://shop.example//api/"],
    ["https://shop.example//me:secret@api/v1", "https://shop.example//me:secret@api/"],
    ["https://shop.example/https://api/v1", "https://shop.example/https://api/"],
    ["https://shop.example//%3F%23/v1", "https://shop.example//%3F%23/"],
    ["https://shop.example:8443//api/v1", "https://shop.example:8443//api/"],
    ["https://@shop.example/v1?", "https://shop.example/"],
    ["https://shop.example/v1#", "https://shop.example/"],
  ])("%s leads to %s", (baseUrl, expected) => {
    let given = "";
    const transport = (options: TransportOptions) => {
      given = options.baseUrl;
      return createWebTransport(options);
    };
    open({ transport, baseUrl });
    expect(given).toBe(expected);
  });

  it.each([
    "",
    "shop.example",
    "ftp://shop.example",
    "https://me:secret@shop.example",
    "https://shop.example/v1?token=secret",
    "https://shop.example/v1#secret",
  ])("'%s' is refused", (baseUrl) => {
    expect(() => open({ transport: createWebTransport, baseUrl })).toThrow(/^baseUrl: (?!.*secret)/);
  });
});

it.each(["", undefined, null])("the key %j is refused as empty", async (apiKey) => {
  const message = "apiKey: it is empty. Is the variable set that it comes from?";
  expect(() => open({ apiKey: apiKey as never })).toThrow(message);
  const client = open({ apiKey: () => apiKey as never });
  const { code, rawMessage } = await failureOf(client.inventory.listInventory({}));
  expect([code, rawMessage]).toEqual([Code.InvalidArgument, message]);
});

it.each([" ", 5, {}, "psk_x y", "psk_x\n", "psk_ü"])("the key %j is refused, and not repeated", (apiKey) => {
  const create = () => open({ transport: createWebTransport, apiKey: apiKey as never });
  expect(create).toThrow(/apiKey: /);
  expect(create).not.toThrow(/psk_/);
});
